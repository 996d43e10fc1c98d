#include "sluice/remote/commands.h"
#include "sluice/remote/names.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

class StatsCommand : public Command {
 public:
  const char* name() const override { return kStatsName.name; }
  const char* summary() const override { return kStatsName.summary; }

  void add_options(CLI::App& app) override {
    app.add_option("model", model_, "Handle or name (default: all)");
    remote_.add_to(app);
  }

  Result<int> run() override {
    const auto client = SLUICE_TRY(remote_.connect());
    const std::uint64_t model = model_.empty() ? 0 : SLUICE_TRY(find_model(*client, model_));
    const auto all = SLUICE_TRY(client->statistics(model));
    if (remote_.is_json) {
      print_json(all);
      return 0;
    }
    std::vector<std::vector<std::string>> rows = {{"MODEL", "NAME", "ANSWERED", "ERRORS", "REFUSED",
                                                   "P50", "P99", "QUEUE P99", "COMPUTE P50"}};
    for (const auto& one : all) {
      std::int64_t num_answered = 0;
      std::int64_t num_ok = 0;
      for (const runtime::CodeCount& count : one.answered) {
        num_answered += count.count;
        if (count.code == runtime::RuntimeCode::kOk) num_ok += count.count;
      }
      rows.push_back({fmt::format("{:#x}", one.model), one.name, std::to_string(num_answered),
                      std::to_string(num_answered - num_ok), std::to_string(one.refused),
                      describe_duration(one.total.p50_ns), describe_duration(one.total.p99_ns),
                      describe_duration(one.queue.p99_ns), describe_duration(one.compute.p50_ns)});
    }
    fmt::print("{}", text_table(rows));
    return 0;
  }

 private:
  RemoteOptions remote_;
  std::string model_;
};

}  // namespace

std::unique_ptr<Command> make_stats_command() { return std::make_unique<StatsCommand>(); }

}  // namespace sluice::tool
