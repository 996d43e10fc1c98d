// Maps operations to the groups of cores that run them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/group.h"
#include "device/stream/stream_pool.h"
#include "exec/loaded_model.h"

namespace sluice::exec {

/// Immutable once made, except for the streams, which all threads may take.
struct SegmentMap {
  std::vector<std::size_t> segment_of_position;  ///< by position in the main order: its segment
  std::vector<std::size_t> group_index;          ///< by segment: into `groups`
  std::vector<std::shared_ptr<const backend::Group>> groups;  ///< different placements only
  std::vector<device::StreamPool> streams;  ///< by group; contexts take theirs from it
  /// Processors of `LoadOptions::cores`, which Context::run moves its thread to and back from; a
  /// run in parts leaves its threads where they are. Empty if no cores were asked for, or no device
  /// of the model is of the kind "cpu".
  std::vector<std::int32_t> cpus;
  /// By group: groups of fewer of its cores, which run branches of a graph side by side. Empty
  /// where nothing runs side by side.
  std::vector<std::vector<std::int32_t>> lanes;
  /// By group: the thread of the parallel executor that submits to it; 0 is the caller's.
  std::vector<std::size_t> thread_of_group;
  /// By backend: into `groups`, for operations of branches and bodies. Entries of backends that run
  /// no such operation are unused.
  std::vector<std::size_t> group_of_backend;
  /// By segment, then by backend. Kernels can be shared if these are equal; tasks of plans can if
  /// the groups' numbers are equal too.
  std::vector<int> devices;

  const std::shared_ptr<const backend::Group>& group_of(std::size_t segment) const {
    return groups[group_index[segment]];
  }
  /// Index into `groups` of the group that runs the operation at `position` of a subgraph's order.
  /// Requires: a backend runs it.
  std::size_t group_at(const package::Executable& executable, ir::SubgraphId subgraph,
                       std::size_t position) const;
  /// Whether there are several groups, of one backend that orders their streams by events.
  Result<bool> has_events() const;
  /// Whether the device of a group reads host memory.
  bool is_on_host(std::size_t group) const;
  /// Whether a group's device cannot reach host memory.
  bool needs_copies() const;
};

/// Creates the groups.
/// Fails: kInvalidArgument for a placement that does not match the segments or names an unknown
///        device; what the backend's groups report.
Result<SegmentMap> map_segments(const package::Executable& executable,
                                std::span<const std::shared_ptr<const backend::Backend>> backends,
                                const LoadOptions& options, ExecutorKind executor);

}  // namespace sluice::exec
