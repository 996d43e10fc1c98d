// What `sluice` can do with a compiler in it; no_compiler.cc stands in where there is none.
#include <utility>

#include "compile/compile.h"
#include "onnx/import.h"
#include "sluice/command.h"
#include "sluice/model_source.h"

namespace sluice::tool {

std::vector<std::unique_ptr<Command>> make_compiler_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_compile_command());
  commands.push_back(make_quantize_command());
  commands.push_back(make_tune_command());
  commands.push_back(make_conformance_command());
  return commands;
}

Result<package::Executable> compile_model(const ModelOptions& options, bool pack,
                                          std::function<void(std::string_view)> progress) {
  if (progress) progress("import");
  const onnx::ImportOptions importing = {SLUICE_TRY(parse_shapes(options.shapes))};
  ir::Graph graph = SLUICE_TRY(onnx::import_model(options.path, importing));
  compile::CompileOptions compiling;
  compiling.backends = options.backends;
  compiling.optimize = options.optimize;
  compiling.pack = pack;
  compiling.cuts = options.cuts;
  compiling.cores = options.cores;
  if (options.weights == "bf16") compiling.weights = compile::WeightPrecision::kBf16;
  if (options.weights == "int8") compiling.weights = compile::WeightPrecision::kInt8;
  compiling.winograd = options.winograd;
  compiling.strassen_levels = options.strassen;
  compiling.progress = std::move(progress);
  return compile::compile(std::move(graph), backend_registry(), compiling);
}

}  // namespace sluice::tool
