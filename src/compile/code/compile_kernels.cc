#include "compile/code/compile_kernels.h"

#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <utility>

#include "backend/extensions/kernel_code.h"
#include "base/file.h"

namespace sluice::compile {
namespace {

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class KernelCompiler {
 public:
  explicit KernelCompiler(const CodeOptions& options) : options_(options) {}

  Result<std::optional<ir::KernelCode>> compile(const ir::Operation& operation,
                                                const backend::Kernel& kernel) {
    // The first compilation gives the key, which names the file.
    const bool is_final = options_.edited.empty();
    const std::span<const std::string> targets = options_.targets;
    auto code = SLUICE_TRY(
        backend::compile_code(kernel, std::nullopt, is_final ? targets : targets.first(0)));
    if (!code || is_final) return code;
    const std::string name = code_name(operation, *code);
    const auto path = options_.edited / (name + ".cu");
    std::error_code error;
    std::optional<std::string> source;
    if (std::filesystem::exists(path, error)) source = text_of(SLUICE_TRY(map_file(path)));
    auto compiled = backend::compile_code(kernel, source, targets);
    if (!compiled.is_ok()) return std::move(compiled).status().with_context(path.string());
    return compiled;
  }

 private:
  const CodeOptions& options_;
};

}  // namespace

Result<std::vector<package::OperationCode>> compile_kernels(const exec::LoadedModel& model,
                                                            const CodeOptions& options) {
  std::error_code error;
  if (!options.edited.empty() && !std::filesystem::is_directory(options.edited, error)) {
    return make_error(Code::kNotFound, "there is no folder \"{}\"", options.edited.string());
  }
  std::vector<package::OperationCode> all;
  std::map<std::string, ir::KernelCode> known;  // by name; bytes are shared
  KernelCompiler compiler(options);
  for (const exec::LoadedModel::StaticKernel& made : model.static_kernels()) {
    const ir::Subgraph& subgraph = model.executable().graph.subgraph(made.subgraph);
    const ir::Operation& operation = subgraph.operation(subgraph.order()[made.position]);
    auto code = SLUICE_TRY(compiler.compile(operation, *made.kernel));
    if (!code) continue;
    const std::string name = code_name(operation, *code);
    const auto entry = known.try_emplace(name, *std::move(code)).first;
    all.push_back({made.kernel->backend().name(), static_cast<std::uint32_t>(made.subgraph.index()),
                   static_cast<std::uint32_t>(made.position), entry->second});
  }
  if (all.empty() && !(options.targets.empty() && options.edited.empty())) {
    return invalid_argument(
        "no kernel is compiled ahead of time: --arch and --code are for backends that do, such as "
        "cuda, and for models of fixed shapes; --shape fixes them");
  }
  return all;
}

std::string code_name(const ir::Operation& operation, const ir::KernelCode& code) {
  return fmt::format("{}_{}", operation.kind, code.key);
}

std::string find_stand_in(const std::string& name, const backend::BackendRegistry& registry) {
  if (registry.find(name).is_ok()) return name;
  for (const backend::Plugin& plugin : registry.all()) {
    if (plugin.backend == nullptr) continue;
    const auto codes = backend::kernel_codes_of(*plugin.backend);
    const bool has_codes = codes.is_ok() && *codes != nullptr;
    if (has_codes && (*codes)->compiles_for != nullptr && (*codes)->compiles_for == name) {
      return plugin.name;
    }
  }
  return name;
}

}  // namespace sluice::compile
