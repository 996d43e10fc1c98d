#include "compile/compile.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compile/assign.h"
#include "compile/cut.h"
#include "compile/layouts.h"
#include "compile/optimize.h"
#include "compile/profile/generic_work.h"
#include "compile/profiled_scheduler.h"
#include "compile/schedule/choose_executor.h"
#include "exec/loaded_model.h"
#include "ir/source.h"
#include "ir/verify.h"
#include "ops/custom.h"
#include "ops/inference.h"
#include "passes/pass_manager.h"

namespace sluice::compile {
namespace {

class Compiler {
 public:
  Compiler(const backend::BackendRegistry& registry, const CompileOptions& options)
      : registry_(registry), options_(options) {}

  /// The phases in their order. Each relies on the types that the one before left inferred.
  Result<package::Executable> run(ir::Graph graph) {
    std::vector<std::string> preferred;
    for (const std::string& name : options_.backends) {
      preferred.push_back(find_stand_in(name, registry_));
      if (preferred.back() != name) stood_for_[preferred.back()] = name;
    }
    if (ops::has_custom_operators(graph)) preferred.emplace_back(backend::kCustomBackend);
    const auto placement = SLUICE_TRY(Placement::create(options_.places, registry_, preferred));
    report("infer shapes");
    SLUICE_TRY(ir::verify(graph));
    SLUICE_TRY(ops::infer_types(graph));
    // Also without the pipeline: kernels of random operations read the state.
    SLUICE_TRY(run_passes(graph, {&passes::random_state_pass(), 1}));
    if (options_.optimize) {
      report("optimize");
      SLUICE_TRY(
          optimize(graph, passes::default_pipeline(), registry_, placement, options_.observe));
    }
    SLUICE_TRY(mark(graph));
    // Layouts before backends: whether a backend accepts an operation depends on its layouts.
    report("choose layouts");
    SLUICE_TRY(choose_layouts(graph, placement));
    // Layouts add Reorder operations, which the passes' own checks have not seen.
    SLUICE_TRY(ir::verify(graph));
    if (options_.observe) SLUICE_TRY(options_.observe("compiled", graph));
    report("assign backends");
    package::Executable executable;
    executable.backends.assign(placement.names().begin(), placement.names().end());
    executable.backend_of = SLUICE_TRY(assign_backends(graph, placement));
    if (options_.profile != nullptr) {
      report("schedule");
      SLUICE_TRY(assign_by_profile(graph, placement, *options_.profile, executable.backend_of));
      graph.metadata[kScheduledFact] = "profile";
    }
    if (!options_.places.empty()) {
      graph.metadata[kPlacesFact] = fmt::format("{}", fmt::join(options_.places, " "));
    }
    executable.graph = std::move(graph);
    ir::drop_stale_sources(executable.graph);
    executable.segments = SLUICE_TRY(cut_segments(executable, options_.cuts, options_.cores));
    // After the cuts: a limit speaks of the segments that the package will have.
    SLUICE_TRY(check_limits(executable, options_.limits));
    if (options_.executor == "auto") {
      report("compare executors");
      set_executor(executable, SLUICE_TRY(choose_executor(executable, registry_)));
    } else {
      set_executor(executable, SLUICE_TRY(exec::parse_executor(options_.executor)));
    }
    if (const auto warning = warn_of_generic_work(executable, placement.backends())) {
      add_warning(executable.graph, *warning);
    }
    // Last, so that the caller's facts replace those that the compilation wrote.
    for (const auto& [key, value] : options_.facts) {
      executable.graph.metadata.insert_or_assign(key, value);
    }
    return prepare(std::move(executable));
  }

 private:
  void report(std::string_view phase) const {
    if (options_.progress) options_.progress(phase);
  }

  /// Marks only; they follow the pipeline because fusion creates some of the operations they mark.
  Status mark(ir::Graph& graph) const {
    std::vector<passes::Pass> marks;
    if (options_.weights == WeightPrecision::kBf16) marks.push_back(passes::rounded_weights_pass());
    if (options_.weights == WeightPrecision::kInt8) marks.push_back(passes::byte_products_pass());
    if (!options_.winograd) marks.push_back(passes::direct_convolutions_pass());
    if (options_.strassen_levels > 0) {
      marks.push_back(passes::strassen_pass(options_.strassen_levels));
    }
    return run_passes(graph, marks);
  }

  /// Passes that ask no backend.
  Status run_passes(ir::Graph& graph, std::span<const passes::Pass> wanted) const {
    passes::PassContext context;
    context.observe = options_.observe;
    return passes::run_passes(graph, wanted, context).status();
  }

  /// Behind those of the import.
  static void add_warning(ir::Graph& graph, const std::string& text) {
    std::string& warnings = graph.metadata["warnings"];
    warnings += (warnings.empty() ? "" : "; ") + text;
  }

  /// Linear is what a package without the fact means.
  static void set_executor(package::Executable& executable, exec::ExecutorKind kind) {
    if (kind == exec::ExecutorKind::kLinear) return;
    executable.graph.metadata[exec::kExecutorFact] = exec::executor_name(kind);
  }

  /// Loads the model as a program would. This verifies that it loads, and yields the packed
  /// constants and the memory plan, which the executable stores.
  Result<package::Executable> prepare(package::Executable executable) const {
    report("prepare kernels");
    // Before the load: it then reads the constants from the draft's file, which needs no memory for
    // them.
    if (!options_.packed_only) SLUICE_TRY(write_graph(executable));
    exec::LoadOptions options;
    options.num_threads = 1;
    if (options_.pack) options.draft = options_.draft;
    const auto model = SLUICE_TRY(exec::LoadedModel::load(executable, registry_, options));
    exec::LoadedModel::Preparation preparation = model.preparation();
    report("compile kernels");
    executable.code = SLUICE_TRY(compile_kernels(model, options_.code));
    executable.plan = std::move(preparation.plan);
    if (options_.pack) executable.packed = std::move(preparation.packed);
    if (!options_.packed_only) return under_own_names(std::move(executable));
    // Constants that kernels read in packed form alone. One of no elements stays, since its bytes
    // look the same.
    for (const auto& [subgraph, constant] : preparation.unread) {
      ir::Constant& whole = *executable.graph.subgraph(subgraph).operand(constant).constant;
      ir::Constant left = {whole.type, Bytes()};
      if (ir::is_left_out(left)) whole = std::move(left);
    }
    SLUICE_TRY(write_graph(executable));
    // Once more, without what was left out. If a kernel needs it after all, the compilation fails
    // instead of a program that loads the package.
    options.draft = nullptr;
    SLUICE_TRY(exec::LoadedModel::load(executable, registry_, options));
    return under_own_names(std::move(executable));
  }

  /// The executable without the names of backends that stood in for others.
  package::Executable under_own_names(package::Executable executable) const {
    const auto rename = [&](std::string& name) {
      if (const auto found = stood_for_.find(name); found != stood_for_.end()) name = found->second;
    };
    std::ranges::for_each(executable.backends, rename);
    std::ranges::for_each(executable.code, rename, &package::OperationCode::backend);
    return executable;
  }

  Status write_graph(package::Executable& executable) const {
    if (options_.draft == nullptr) return ok_status();
    return options_.draft->write_graph(executable.graph);
  }

  const backend::BackendRegistry& registry_;
  const CompileOptions& options_;
  std::map<std::string, std::string> stood_for_;  // backends that are asked for, by their stand-ins
};

}  // namespace

Result<package::Executable> compile(ir::Graph graph, const backend::BackendRegistry& backends,
                                    const CompileOptions& options) {
  return Compiler(backends, options).run(std::move(graph));
}

}  // namespace sluice::compile
