#include "sluice/remote/commands.h"
#include "sluice/remote/package_file.h"
#include "sluice/remote/remote.h"
#include "sluice/remote/support/field_options.h"

namespace sluice::tool {
namespace {

class LoadCommand : public Command {
 public:
  const char* name() const override { return "load"; }

  void add_options(Options& options) override {
    package_.add_to(options);
    options.add("--name", name_, "Name of the model in lists (default: the file's name)");
    options.add("--group", group_,
                "Handle of a core group (default: a new one for the model, which then starts)");
    options
        .add("--isolation", isolation_,
             "Where the model runs if a group is made for it: stream, in the daemon, or "
             "process, in a worker of its own (default: the daemon's setting)")
        .one_of({"stream", "process"});
    add_fields(options, options_);
    options.add(
        "--batch-rows", batch_rows_,
        "Maximum number of rows of waiting requests that run as one, for a model with independent "
        "rows; 0 takes the rows it was compiled for (default: each request runs alone)");
    options
        .add("--max-delay", max_delay_ns_,
             "Seconds that a request waits for others to fill its run, with --batch-rows")
        .takes_seconds(0);
    options.flag("--flag-nan", flags_nan_, "Answer with code 1003 if an output holds NaN");
    options.flag("--estimate", only_estimates_,
                 "Print the memory that the model would need; load nothing");
    options.add("--seed", options_.seed, "Start of random operators' numbers (default: any)");
    remote_.add_to(options);
  }

  Result<int> run() override {
    options_.name = name_.empty() ? package_.stem() : name_;
    if (!isolation_.empty()) {
      options_.isolation = SLUICE_TRY(terms::parse_isolation(isolation_));
    }
    if (flags_nan_) options_.nan_policy = terms::NanPolicy::kFlag;
    if (batch_rows_) options_.batching = terms::BatchOptions{*batch_rows_, max_delay_ns_};
    if (max_delay_ns_ > 0 && !batch_rows_) {
      return invalid_argument("--max-delay joins nothing without --batch-rows");
    }
    if (group_ != 0) options_.group = terms::CoreGroupId(group_);
    const auto client = SLUICE_TRY(remote_.connect());
    const auto file = SLUICE_TRY(package_.find());
    // An estimate needs the file, too: sizes follow from the graph.
    if (only_estimates_) return estimate(*client, file.path);
    const auto model = SLUICE_TRY(package_.is_by_path() ? client->load(options_, file.path)
                                                        : client->upload(options_, file.path));
    if (remote_.is_json) {
      print_json(model);
    } else {
      fmt::print("{:#x}  {}, {} on group {}, depth {}, queue limit {}\n", model.info.handle,
                 model.info.name, terms::phase_name(model.info.phase), model.info.group.value(),
                 model.info.depth, model.info.queue_limit);
    }
    return 0;
  }

 private:
  Result<int> estimate(rpc::client::Client& client, const std::string& path) {
    const auto footprint = SLUICE_TRY(client.estimate(options_, path, !package_.is_by_path()));
    if (remote_.is_json) {
      print_json(footprint);
    } else {
      fmt::print("{}\n", footprint.to_string());
    }
    return 0;
  }

  RemoteOptions remote_;
  PackageOptions package_;
  std::string name_;
  std::int32_t group_ = 0;
  std::string isolation_;
  std::optional<std::int64_t> batch_rows_;
  std::int64_t max_delay_ns_ = 0;
  bool flags_nan_ = false;
  terms::LoadOptions options_;
  bool only_estimates_ = false;
};

}  // namespace

std::unique_ptr<Command> make_load_command() { return std::make_unique<LoadCommand>(); }

}  // namespace sluice::tool
