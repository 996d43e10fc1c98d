#include "compile/tune/tune.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text/plural.h"
#include "compile/code/compile_kernels.h"
#include "compile/optimize.h"
#include "compile/tune/trial_model.h"
#include "exec/loaded_model.h"
#include "ops/inference.h"

namespace sluice::compile {
namespace {

/// The graph for inputs of these shapes.
Result<ir::Graph> with_shapes(const ir::Graph& graph, std::span<const terms::TensorView> inputs) {
  const terms::Signature signature = package::signature_of(graph);
  if (inputs.size() != signature.inputs.size()) {
    return invalid_argument("{}, the model takes {}", counted(inputs.size(), "tensor"),
                            signature.inputs.size());
  }
  ir::Graph shaped = graph;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    // Hostile or merely wrong inputs are refused here, before their shapes decide anything.
    SLUICE_TRY(exec::check_input(signature.inputs[i], inputs[i]));
    ir::Shape shape;
    for (const std::int64_t dim : inputs[i].dims) shape.emplace_back(dim);
    ir::Type& type = shaped.main().operand(shaped.main().inputs[i]).type;
    // Types of results are inferred anew from these; the executable itself keeps its symbolic
    // shapes.
    type = type.with_shape(std::move(shape));
  }
  SLUICE_TRY(ops::infer_types(shaped));
  return shaped;
}

int cores_of(Backends backends, int num_threads) {
  int most = 1;
  for (const auto& backend : backends) most = std::max(most, backend->devices()[0].num_cores);
  return num_threads > 0 ? std::min(num_threads, most) : most;
}

std::string machine_of(Backends backends, int num_cores) {
  std::string text;
  for (const auto& backend : backends) {
    text += (text.empty() ? "" : ", ") + backend->devices()[0].name;
  }
  return fmt::format("{}; {}", text, counted(num_cores, "core"));
}

bool is_simulated(Backends backends) {
  return std::ranges::any_of(
      backends, [](const auto& backend) { return backend->devices()[0].is_simulated; });
}

/// Compiles kernels anew, for the targets of those that the executable had. Kernels that stayed as
/// they were keep their code, which a person may have edited.
Status recompile(const exec::LoadedModel& model, package::Executable& executable) {
  if (executable.code.empty()) return ok_status();
  CodeOptions options;
  const auto place_of = [](const package::OperationCode& of) {
    return std::tie(of.backend, of.subgraph, of.operation);
  };
  for (const package::OperationCode& old : executable.code) {
    for (const ir::KernelCode::Image& image : old.code.images) {
      const bool is_known =
          std::ranges::find(options.targets, image.target) != options.targets.end();
      if (!is_known) options.targets.push_back(image.target);
    }
  }
  std::vector<package::OperationCode> compiled = SLUICE_TRY(compile_kernels(model, options));
  for (package::OperationCode& made : compiled) {
    for (const package::OperationCode& old : executable.code) {
      if (place_of(old) == place_of(made) && old.code.key == made.code.key) made.code = old.code;
    }
  }
  executable.code = std::move(compiled);
  return ok_status();
}

/// Prepares again what depends on tactics: packed constants, the plan, compiled kernels.
Status prepare(const backend::BackendRegistry& registry, package::Executable& executable) {
  exec::LoadOptions loading;
  // The tuned graph still has the packed forms of its old tactics. The loader uses those that fit
  // the new ones and packs the rest.
  loading.num_threads = 1;
  const bool is_packed = !executable.packed.empty();
  const auto model = SLUICE_TRY(exec::LoadedModel::load(executable, registry, loading));
  exec::LoadedModel::Preparation preparation = model.preparation();
  if (is_packed) executable.packed = std::move(preparation.packed);
  executable.plan = std::move(preparation.plan);
  return recompile(model, executable);
}

/// What changed, the greatest saving first.
std::vector<TunedGroup> changes(std::span<const TunableGroup> groups,
                                const SearchOutcome& outcome) {
  std::vector<TunedGroup> changed;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const GroupOutcome& found = outcome.groups[g];
    if (found.tactic == 0) continue;
    changed.push_back({groups[g].text, groups[g].members.size(), groups[g].tactics.front(),
                       groups[g].tactics[static_cast<std::size_t>(found.tactic)], found.before_ns,
                       found.after_ns});
  }
  std::ranges::stable_sort(changed, std::greater(), [](const TunedGroup& group) {
    return group.before_ns - group.after_ns;
  });
  return changed;
}

}  // namespace

Result<Tuning> tune(package::Executable executable, std::span<const terms::TensorView> inputs,
                    const backend::BackendRegistry& registry, const TuneOptions& options,
                    const Clock& clock) {
  const auto backends = SLUICE_TRY(find_backends(registry, executable.backends));
  const ir::Graph shaped = SLUICE_TRY(with_shapes(executable.graph, inputs));
  const int num_cores = cores_of(backends, options.num_threads);
  const auto groups = SLUICE_TRY(find_tunable(executable, shaped, backends, num_cores));

  std::vector<int> num_tactics;
  for (const TunableGroup& group : groups)
    num_tactics.push_back(static_cast<int>(group.tactics.size()));
  SearchOptions searching;
  searching.time_box_ns = static_cast<std::int64_t>(options.seconds * 1e9);
  searching.progress = options.progress;
  // A scope, so that the packed forms of all tactics are freed before the executable is packed
  // anew.
  SearchOutcome outcome;
  {
    TrialMaker trials(executable, groups, inputs, backends, registry, num_cores);
    outcome = SLUICE_TRY(search_tactics(
        num_tactics, [&](std::span<const int> choice) { return trials.make(choice); }, clock,
        searching));
  }

  TuneReport report;
  report.machine = machine_of(backends, num_cores);
  report.is_simulated = is_simulated(backends);
  report.num_groups = groups.size();
  report.rounds = outcome.rounds;
  report.changed = changes(groups, outcome);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    report.measured.push_back({groups[g].text, groups[g].members.size(), groups[g].tactics,
                               std::move(outcome.groups[g].tactics),
                               static_cast<std::size_t>(outcome.groups[g].confirmed)});
  }
  report.before_ns = outcome.before_ns;
  // Without a change the executable stays as it was, its packed constants included.
  report.after_ns = outcome.after_ns;
  if (!report.changed.empty()) {
    std::vector<int> choice;
    for (const GroupOutcome& group : outcome.groups) choice.push_back(group.tactic);
    apply_tactics(groups, choice, executable.graph);
    executable.graph.metadata.insert_or_assign(std::string(kTunedFor), report.machine);
    SLUICE_TRY(prepare(registry, executable));
  }
  return Tuning{std::move(executable), std::move(report)};
}

}  // namespace sluice::compile
