// An executable with ways chosen for its operations, loaded to be measured.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "compile/tunable.h"
#include "compile/variant_search.h"
#include "exec/loaded_model.h"

namespace sluice::compile {

/// Puts the groups' ways on their operations: in group g `ways[choice[g]]`.
void apply_ways(std::span<const TunableGroup> groups, std::span<const int> choice,
                ir::Graph& graph);

/// Makes trials of one executable on one number of cores. Constants that several trials pack alike
/// are packed once. Used by one thread; outlives its trials.
class TrialMaker {
 public:
  /// All arguments outlive it.
  TrialMaker(const package::Executable& executable, std::span<const TunableGroup> groups,
             std::span<const exec::TensorView> inputs, Backends backends,
             const backend::BackendRegistry& registry, int num_threads);

  /// A model that has run once. Fails: what loading and running it reports.
  Result<std::unique_ptr<TrialModel>> make(std::span<const int> choice);

 private:
  using PackedKey = std::pair<OperationPlace, std::string>;  // and the operation's way

  std::vector<package::PackedConstant> packed_for(const ir::Graph& graph) const;
  void remember(const ir::Graph& graph, std::vector<package::PackedConstant> packed);

  const package::Executable& executable_;
  std::span<const TunableGroup> groups_;
  std::span<const exec::TensorView> inputs_;
  Backends backends_;
  const backend::BackendRegistry& registry_;
  int num_threads_;
  std::map<PackedKey, std::vector<package::PackedConstant>> packed_;
};

}  // namespace sluice::compile
