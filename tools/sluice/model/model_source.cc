#include "sluice/model/model_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "operators/module.h"
#include "package/package.h"

namespace sluice::tool {

bool is_package(const Bytes& file) {
  const std::string_view start(reinterpret_cast<const char*>(file.data()),
                               std::min(file.size(), package::kFileMagic.size()));
  return start == package::kFileMagic;
}

void ModelOptions::add_to(Options& options, const char* what) {
  options.add("model", path, what).required();
  add_common(options);
}

void ModelOptions::add_allowed(Options& options) {
  options
      .add("--allow-operators", allowed_operators,
           "SHA-256 of a module of operators whose code may run if the package carries it, as "
           "`sluice inspect` prints it (repeatable)")
      .repeatable();
}

void print_warnings(const std::string& path, const ir::Graph& graph) {
  const auto found = graph.metadata.find("warnings");
  if (found != graph.metadata.end()) {
    fmt::print(stderr, "warning: {}: {}\n", path, found->second);
  }
}

const backend::BackendRegistry& backend_registry() {
  static const backend::BackendRegistry kRegistry = backend::BackendRegistry::discover();
  return kRegistry;
}

Result<package::Executable> open_model(const ModelOptions& options, const Progress& progress) {
  for (const std::string& sha256 : options.allowed_operators) {
    SLUICE_TRY(operators::allow_module(sha256).with_context("--allow-operators"));
  }
  std::error_code error;
  if (std::filesystem::is_directory(options.path, error)) return compile_once(options, progress);
  const Bytes file = SLUICE_TRY(map_file(options.path));
  if (is_package(file)) return package::parse_package(file).with_context(options.path);
  return compile_once(options, progress);
}

}  // namespace sluice::tool
