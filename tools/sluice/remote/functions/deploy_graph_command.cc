#include <filesystem>

#include "base/file.h"
#include "base/text/plural.h"
#include "sandbox/graph/graph_file.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

class DeployGraphCommand : public Command {
 public:
  const char* name() const override { return "deploy-graph"; }

  void add_options(Options& options) override {
    options
        .add("file", path_,
             "JSON: {\"functions\": [\"a=FUNCTION\", ...], \"edges\": [\"a.y=b.x\", ...], "
             "\"outputs\": [\"a.y\", ...]}")
        .required();
    options.add("--name", name_, "Name of the graph in lists (default: the file's name)");
    remote_.add_to(options);
  }

  Result<int> run() override {
    const std::string text = SLUICE_TRY(read_text_file(path_, sandbox::kMaxGraphFileBytes));
    auto file = SLUICE_TRY(sandbox::parse_graph_file(text).with_context(path_));
    const auto client = SLUICE_TRY(remote_.connect());
    // The file may name functions; the daemon takes handles alone.
    std::vector<terms::ModelInfo> models;
    for (auto& model : SLUICE_TRY(client->list_models())) models.push_back(std::move(model.info));
    const std::string name = name_.empty() ? std::filesystem::path(path_).stem().string() : name_;
    const auto request = SLUICE_TRY(sandbox::to_request(std::move(file), name, models));
    const auto graph = SLUICE_TRY(client->deploy_graph(request));
    if (remote_.is_json) {
      print_json(graph);
    } else {
      fmt::print("{:#x}  {}, {}, {}, {}\n", graph.info.handle, graph.info.name,
                 counted(request.nodes.size(), "function"),
                 counted(graph.signature.inputs.size(), "input"),
                 counted(graph.signature.outputs.size(), "output"));
    }
    return 0;
  }

 private:
  RemoteOptions remote_;
  std::string path_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Command> make_deploy_graph_command() {
  return std::make_unique<DeployGraphCommand>();
}

}  // namespace sluice::tool
