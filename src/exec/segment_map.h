// Which cores run which operations.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/group.h"
#include "exec/loaded_model.h"

namespace sluice::exec {

/// Immutable once made.
struct SegmentMap {
  std::vector<std::size_t> index_of_place;  ///< by place in the main order: its segment
  std::vector<std::size_t> group_index;     ///< by segment: into `groups`
  std::vector<std::shared_ptr<const backend::Group>> groups;  ///< different placements only
  /// By backend: into `groups`, for operations of subgraphs that control flow runs; unused where
  /// none of them is the backend's.
  std::vector<std::size_t> group_of_backend;

  const std::shared_ptr<const backend::Group>& group_of(std::size_t segment) const {
    return groups[group_index[segment]];
  }
  /// Into `groups`: who runs the operation at `place` of a subgraph's order.
  /// Requires: a backend runs it.
  std::size_t group_at(const package::Executable& executable, ir::SubgraphId subgraph,
                       std::size_t place) const;
  /// By segment, then backend: what kernels depend on.
  std::vector<int> devices() const;
};

/// Makes the groups.
/// Fails: kInvalidArgument for a placement that does not fit the segments or names a device that is
///        not there; kUnimplemented for a device without host memory; what the backend's groups
///        report.
Result<SegmentMap> map_segments(const package::Executable& executable,
                                std::span<const std::shared_ptr<const backend::Backend>> backends,
                                const LoadOptions& options);

}  // namespace sluice::exec
