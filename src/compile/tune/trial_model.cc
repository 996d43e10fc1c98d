#include "compile/tune/trial_model.h"

#include <list>
#include <utility>

#include "backend/extensions/step_observer.h"
#include "backend/extensions/variants.h"
#include "base/text/number.h"

namespace sluice::compile {
namespace {

std::string tactic_of(const ir::Operation& operation) {
  return operation.attributes.get_or(backend::kVariantAttribute, std::string());
}

/// Names operations after the number of their group, so that reported times can be attributed to
/// groups.
void name_by_group(std::span<const TunableGroup> groups, ir::Graph& graph) {
  // Names of the model mean nothing to the times, and two equal ones would mix groups; all go.
  for (std::size_t s = 0; s < graph.num_subgraphs(); ++s) {
    ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(s));
    for (const ir::OperationId id : subgraph.order()) subgraph.operation(id).name.clear();
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const OperationPosition& at : groups[g].members) {
      ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(at.subgraph));
      subgraph.operation(subgraph.order()[at.position]).name = fmt::format("{}", g);
    }
  }
}

class LoadedTrial final : public TrialModel {
 public:
  LoadedTrial(exec::Context context, Backends backends, std::size_t num_groups)
      : context_(std::move(context)), backends_(backends), num_groups_(num_groups) {
    for (const auto& backend : backends_) {
      is_simulated_ = is_simulated_ || backend->devices()[0].is_simulated;
    }
  }

  Result<std::vector<double>> time_groups() override {
    std::vector<double> times(num_groups_);
    const auto steps = SLUICE_TRY(run_observed());
    for (const backend::StepTime& step : steps) {
      // A name that is no number is an operation of no group.
      const std::size_t group = to_number<std::size_t>(step.name).value_or(num_groups_);
      if (group < num_groups_) times[group] += static_cast<double>(step.duration_ns);
    }
    return times;
  }

  Result<double> time_run() override {
    // The time that a simulation takes says nothing of the run that it simulates.
    if (is_simulated_) {
      double whole_ns = 0;
      const auto steps = SLUICE_TRY(run_observed());
      for (const backend::StepTime& step : steps) whole_ns += static_cast<double>(step.duration_ns);
      if (whole_ns > 0) return whole_ns;
    }
    const Steady steady = steadily();
    const Clock& clock = system_clock();
    const std::int64_t start_ns = clock.now_ns();
    SLUICE_TRY(context_.run());
    return static_cast<double>(clock.now_ns() - start_ns);
  }

 private:
  using Steady = std::list<backend::SteadyRuns>;

  /// Empty where no backend reports the times of its steps.
  Result<std::vector<backend::StepTime>> run_observed() {
    std::vector<backend::StepTime> steps;
    const Steady steady = steadily();
    std::list<backend::StepObserver> observers;
    for (const auto& backend : backends_) observers.emplace_back(*backend, steps);
    SLUICE_TRY(context_.run());
    return steps;
  }

  /// Turns off adaptation to CPU contention, which would make models incomparable: one that ran at
  /// a quiet moment would keep its advantage.
  Steady steadily() const {
    Steady steady;
    for (const auto& backend : backends_) steady.emplace_back(*backend);
    return steady;
  }

  exec::Context context_;
  Backends backends_;
  std::size_t num_groups_;
  bool is_simulated_ = false;
};

}  // namespace

void apply_tactics(std::span<const TunableGroup> groups, std::span<const int> choice,
                   ir::Graph& graph) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string& tactic = groups[g].tactics[static_cast<std::size_t>(choice[g])];
    for (const OperationPosition& at : groups[g].members) {
      ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(at.subgraph));
      ir::Attributes& attributes = subgraph.operation(subgraph.order()[at.position]).attributes;
      if (tactic.empty()) {
        attributes.erase(backend::kVariantAttribute);
      } else {
        attributes.set(std::string(backend::kVariantAttribute), tactic);
      }
    }
  }
}

TrialMaker::TrialMaker(const package::Executable& executable, std::span<const TunableGroup> groups,
                       std::span<const terms::TensorView> inputs, Backends backends,
                       const backend::BackendRegistry& registry, int num_threads)
    : executable_(executable),
      groups_(groups),
      inputs_(inputs),
      backends_(backends),
      registry_(registry),
      num_threads_(num_threads) {
  remember(executable.graph, executable.packed);
}

Result<std::unique_ptr<TrialModel>> TrialMaker::make(std::span<const int> choice) {
  package::Executable trial = executable_;
  apply_tactics(groups_, choice, trial.graph);
  name_by_group(groups_, trial.graph);
  // What earlier trials packed. Packing takes most of the time of a load.
  trial.packed = packed_for(trial.graph);
  exec::LoadOptions loading;
  loading.num_threads = num_threads_;
  const auto model = SLUICE_TRY(exec::LoadedModel::load(std::move(trial), registry_, loading));
  remember(model.executable().graph, model.preparation().packed);
  exec::Context context = SLUICE_TRY(model.create_context());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    SLUICE_TRY(context.set_input(i, inputs_[i]));
  }
  // The first run plans and allocates, so that the measured ones do not.
  SLUICE_TRY(context.run());
  return std::unique_ptr<TrialModel>(
      std::make_unique<LoadedTrial>(std::move(context), backends_, groups_.size()));
}

/// Constants packed for other tactics. A loader uses one if its format matches the tactic's.
std::vector<package::PackedConstant> TrialMaker::packed_for(const ir::Graph& graph) const {
  std::vector<package::PackedConstant> all;
  for (auto it = packed_.begin(); it != packed_.end();) {
    const OperationPosition at = it->first.first;
    const ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(at.subgraph));
    const auto same =
        packed_.find({at, tactic_of(subgraph.operation(subgraph.order()[at.position]))});
    const auto& found = same == packed_.end() ? it->second : same->second;
    all.insert(all.end(), found.begin(), found.end());
    // On to the entries of the next operation: one operation has one for each tactic tried.
    while (it != packed_.end() && it->first.first == at) ++it;
  }
  return all;
}

void TrialMaker::remember(const ir::Graph& graph, std::vector<package::PackedConstant> packed) {
  std::map<PackedKey, std::vector<package::PackedConstant>> found;
  for (package::PackedConstant& entry : packed) {
    const OperationPosition at = {entry.subgraph, entry.operation};
    if (at.subgraph >= graph.num_subgraphs()) continue;
    const ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(at.subgraph));
    if (at.position >= subgraph.order().size()) continue;
    const std::string tactic = tactic_of(subgraph.operation(subgraph.order()[at.position]));
    found[{at, tactic}].push_back(std::move(entry));
  }
  // An entry that was there stays: it was packed for the same tactic.
  packed_.merge(found);
}

}  // namespace sluice::compile
