#include "compiler/compile_model.h"

#include <utility>

#include "compile/compile.h"
#include "onnx/import.h"
#include "options/shapes.h"

namespace sluice::compiler {
namespace {

compile::WeightPrecision precision_of(std::string_view weights) {
  if (weights == "bf16") return compile::WeightPrecision::kBf16;
  if (weights == "int8") return compile::WeightPrecision::kInt8;
  return compile::WeightPrecision::kF32;
}

Result<ir::Graph> import(const Source& source, const options::CompileFlags& flags) {
  const onnx::ImportOptions importing = {SLUICE_TRY(options::parse_shapes(flags.shapes))};
  if (!source.path.empty()) return onnx::import_model(source.path, importing);
  return onnx::import_model_bytes(source.bytes, source.folder, importing);
}

}  // namespace

Result<package::Executable> compile_model(const Source& source, const options::CompileFlags& flags,
                                          const backend::BackendRegistry& backends,
                                          std::function<void(std::string_view)> progress) {
  if (progress) progress("import");
  ir::Graph graph = SLUICE_TRY(import(source, flags));
  compile::CompileOptions compiling;
  compiling.backends = flags.backends;
  compiling.places = flags.places;
  if (!flags.profile.empty()) {
    compiling.profile = std::make_shared<const compile::OperatorProfile>(
        SLUICE_TRY(compile::read_operator_profile(flags.profile).with_context("--profile")));
  }
  compiling.limits = {flags.min_segment, flags.max_segments};
  compiling.optimize = flags.optimize;
  compiling.pack = flags.pack;
  compiling.cuts = flags.cuts;
  compiling.cores = flags.cores;
  compiling.weights = precision_of(flags.weights);
  compiling.winograd = flags.winograd;
  compiling.strassen_levels = flags.strassen;
  compiling.progress = std::move(progress);
  return compile::compile(std::move(graph), backends, compiling);
}

}  // namespace sluice::compiler
