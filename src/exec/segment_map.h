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

  const std::shared_ptr<const backend::Group>& group_of(std::size_t segment) const {
    return groups[group_index[segment]];
  }
  /// By segment: what kernels depend on.
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
