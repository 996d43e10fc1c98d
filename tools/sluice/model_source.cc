#include "sluice/model_source.h"

#include <utility>

#include "base/file.h"
#include "package/package.h"

namespace sluice::tool {
namespace {

bool is_package(const Bytes& file) {
  const std::string_view start(reinterpret_cast<const char*>(file.data()),
                               std::min(file.size(), package::kFileMagic.size()));
  return start == package::kFileMagic;
}

}  // namespace

void ModelOptions::add_to(CLI::App& app) {
  app.add_option("model", path, "An ONNX file, or a .sluice file made by `sluice compile`")
      ->required();
  app.add_option("--shape", shapes, "Fix an input's dimensions: name=1,3,224,224 (repeatable)");
  app.add_option("--backend", backends, "Backends in order of preference")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag("!--no-optimize", optimize, "Leave the graph as the file has it");
}

const backend::BackendRegistry& backend_registry() {
  static const backend::BackendRegistry kRegistry = backend::BackendRegistry::discover();
  return kRegistry;
}

Result<package::Executable> open_model(const ModelOptions& options,
                                       std::function<void(std::string_view)> progress) {
  const Bytes file = SLUICE_TRY(map_file(options.path));
  if (is_package(file)) return package::parse_package(file).with_context(options.path);
  return compile_model(options, true, std::move(progress));
}

}  // namespace sluice::tool
