// An executable with a tactic per operation, loaded for measurement.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "compile/tune/tactic_search.h"
#include "compile/tune/tunable.h"
#include "exec/loaded_model.h"

namespace sluice::compile {

/// Sets the tactic of all operations: `tactics[choice[g]]` in group g.
void apply_tactics(std::span<const TunableGroup> groups, std::span<const int> choice,
                   ir::Graph& graph);

/// Creates trial models of one executable for a fixed number of cores. Constants with equal packed
/// forms are packed once. Used by one thread; outlives its trials.
class TrialMaker {
 public:
  /// All arguments outlive it.
  TrialMaker(const package::Executable& executable, std::span<const TunableGroup> groups,
             std::span<const terms::TensorView> inputs, Backends backends,
             const backend::BackendRegistry& registry, int num_threads);

  /// A model that has run once.
  /// Fails: what loading and running it reports.
  Result<std::unique_ptr<TrialModel>> make(std::span<const int> choice);

 private:
  using PackedKey = std::pair<OperationPosition, std::string>;  // and the operation's tactic

  std::vector<package::PackedConstant> packed_for(const ir::Graph& graph) const;
  void remember(const ir::Graph& graph, std::vector<package::PackedConstant> packed);

  const package::Executable& executable_;
  std::span<const TunableGroup> groups_;
  std::span<const terms::TensorView> inputs_;
  Backends backends_;
  const backend::BackendRegistry& registry_;
  int num_threads_;
  std::map<PackedKey, std::vector<package::PackedConstant>> packed_;
};

}  // namespace sluice::compile
