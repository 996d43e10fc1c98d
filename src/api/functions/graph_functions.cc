// The function of sluice/runtime.h for graphs of functions.
#include <filesystem>
#include <utility>

#include "api/functions/open_runtimes.h"
#include "base/file.h"
#include "sandbox/graph/graph_file.h"

namespace sluice::api {
namespace {

Result<sandbox::GraphFile> graph_file(const sluice_graph_options& options) {
  if ((options.path == nullptr) == (options.text == nullptr)) {
    return invalid_argument("set exactly one of path and text of a graph: {} set",
                            options.path == nullptr ? "none is" : "both are");
  }
  if (options.text != nullptr) return sandbox::parse_graph_file(options.text);
  const std::string text = SLUICE_TRY(read_text_file(options.path, sandbox::kMaxGraphFileBytes));
  return SLUICE_TRY(sandbox::parse_graph_file(text).with_context(options.path));
}

std::string name_of(const sluice_graph_options& options) {
  if (options.name != nullptr && *options.name != '\0') return options.name;
  return options.path == nullptr ? "graph" : std::filesystem::path(options.path).stem().string();
}

Result<std::uint64_t> deploy(Runtime& runtime, const sluice_graph_options* given) {
  if (given == nullptr) return invalid_argument("the graph options are null");
  const sluice_graph_options options = read_options(given);
  auto file = SLUICE_TRY(graph_file(options));
  std::vector<terms::ModelInfo> models;
  for (ModelDescription& model : SLUICE_TRY(runtime.models(0))) {
    models.push_back(std::move(model.info));
  }
  return runtime.deploy_graph(
      SLUICE_TRY(sandbox::to_request(std::move(file), name_of(options), models)));
}

}  // namespace
}  // namespace sluice::api

int32_t sluice_runtime_deploy_graph(sluice_runtime* runtime, const sluice_graph_options* options,
                                    uint64_t* graph) {
  using sluice::Status;
  return sluice::api::with_result_blocking(runtime, graph, [&](sluice::api::Call& call) -> Status {
    *graph = SLUICE_TRY(sluice::api::deploy(*call, options));
    return sluice::ok_status();
  });
}
