#include "sluice/devices/device_table.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

class FunctionsCommand : public Command {
 public:
  const char* name() const override { return "functions"; }
  void add_options(Options& options) override { remote_.add_to(options); }

  Result<int> run() override {
    const auto client = SLUICE_TRY(remote_.connect());
    auto models = SLUICE_TRY(client->list_models());
    std::erase_if(models, [](const auto& model) { return !model.function && !model.graph; });
    if (remote_.is_json) {
      print_json(models);
      return 0;
    }
    std::vector<std::vector<std::string>> rows = {{"FUNCTION", "NAME", "PHASE", "GROUP", "SHARE",
                                                   "PRIORITY", "QUOTA", "HOLDS", "REQUESTS",
                                                   "STARTS", "LAST START", "BUSY"}};
    for (const auto& model : models) {
      if (!model.function) continue;
      const terms::FunctionState& state = *model.function;
      rows.push_back(
          {fmt::format("{:#x}", model.info.handle), model.info.name,
           std::string(terms::phase_name(state.phase)), std::to_string(model.info.group.value()),
           std::to_string(state.options.share), std::to_string(state.options.priority),
           state.options.memory_bytes == 0 ? "-" : format_bytes(state.options.memory_bytes),
           format_bytes(state.held_bytes), std::to_string(state.num_requests),
           std::to_string(state.num_starts), describe_duration(state.last_start_ns),
           describe_duration(state.busy_ns)});
    }
    fmt::print("{}", text_table(rows));
    print_graphs(models);
    return 0;
  }

 private:
  static void print_graphs(const std::vector<terms::ModelEntry>& models) {
    std::vector<std::vector<std::string>> rows = {{"GRAPH", "NAME", "FUNCTIONS"}};
    for (const auto& model : models) {
      if (!model.graph) continue;
      std::string functions;
      for (const terms::GraphNode& node : model.graph->nodes) {
        functions += fmt::format("{}{}={:#x}", functions.empty() ? "" : " ", node.name,
                                 static_cast<std::uint64_t>(node.function));
      }
      rows.push_back({fmt::format("{:#x}", model.info.handle), model.info.name, functions});
    }
    if (rows.size() > 1) fmt::print("{}", text_table(rows));
  }

  RemoteOptions remote_;
};

}  // namespace

std::unique_ptr<Command> make_functions_command() { return std::make_unique<FunctionsCommand>(); }

}  // namespace sluice::tool
