#include "compile/compile.h"

#include <utility>

#include "compile/assign.h"
#include "compile/cut.h"
#include "compile/layouts.h"
#include "compile/optimize.h"
#include "exec/loaded_model.h"
#include "ir/verify.h"
#include "ops/inference.h"
#include "passes/pass_manager.h"

namespace sluice::compile {
namespace {

class Compiler {
 public:
  Compiler(const backend::BackendRegistry& registry, const CompileOptions& options)
      : registry_(registry), options_(options) {}

  Result<package::Executable> run(ir::Graph graph) {
    backends_ = SLUICE_TRY(find_backends(registry_, options_.backends));
    report("infer shapes");
    SLUICE_TRY(ir::verify(graph));
    SLUICE_TRY(ops::infer_types(graph));
    if (options_.optimize) {
      report("optimize");
      SLUICE_TRY(optimize(graph, passes::default_pipeline(), registry_, backends_));
    }
    if (options_.weights == WeightPrecision::kBf16) {
      SLUICE_TRY(passes::run_passes(graph, {&passes::rounded_weights_pass(), 1}, {}));
    }
    if (options_.weights == WeightPrecision::kInt8) {
      SLUICE_TRY(passes::run_passes(graph, {&passes::byte_products_pass(), 1}, {}));
    }
    if (!options_.winograd) {
      SLUICE_TRY(passes::run_passes(graph, {&passes::direct_convolutions_pass(), 1}, {}));
    }
    if (options_.strassen_levels > 0) {
      const passes::Pass& pass = passes::strassen_pass(options_.strassen_levels);
      SLUICE_TRY(passes::run_passes(graph, {&pass, 1}, {}));
    }
    report("choose layouts");
    SLUICE_TRY(choose_layouts(graph, backends_));
    SLUICE_TRY(ir::verify(graph));
    report("assign backends");
    package::Executable executable;
    executable.backends = options_.backends;
    executable.backend_of = SLUICE_TRY(assign_backends(graph, backends_));
    executable.graph = std::move(graph);
    executable.segments = SLUICE_TRY(cut_segments(executable, options_.cuts, options_.cores));
    report("prepare kernels");
    return prepare(std::move(executable));
  }

 private:
  void report(std::string_view phase) const {
    if (options_.progress) options_.progress(phase);
  }

  /// Loads the model as a run would: what loads here loads there, and what loading works out
  /// (packed constants, the memory plan) is kept.
  Result<package::Executable> prepare(package::Executable executable) const {
    exec::LoadOptions options;
    options.num_threads = 1;
    const auto model = SLUICE_TRY(exec::LoadedModel::load(executable, registry_, options));
    exec::LoadedModel::Preparation preparation = model.preparation();
    executable.plan = std::move(preparation.plan);
    if (options_.pack) executable.packed = std::move(preparation.packed);
    return executable;
  }

  const backend::BackendRegistry& registry_;
  const CompileOptions& options_;
  std::vector<std::shared_ptr<const backend::Backend>> backends_;
};

}  // namespace

Result<package::Executable> compile(ir::Graph graph, const backend::BackendRegistry& backends,
                                    const CompileOptions& options) {
  return Compiler(backends, options).run(std::move(graph));
}

}  // namespace sluice::compile
