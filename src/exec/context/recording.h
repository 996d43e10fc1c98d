// A range recorded into command lists: once per context and shape, submitted in every run.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "backend/command_list.h"
#include "exec/context/device_mirror.h"
#include "exec/range_plan.h"

namespace sluice::exec {

/// Memory that a list reads or writes: as in plan::Place, `binding` and an offset into it.
struct BoundAccess {
  std::int32_t binding = 0;
  std::int64_t offset_bytes = 0;
  std::int64_t size_bytes = 0;
  bool is_write = false;
};

/// The steps of a segment that lie in one range.
struct Segment {
  std::size_t index = 0;                 ///< of the main subgraph's segment; of a body's group
  std::size_t group = 0;                 ///< into SegmentMap::groups
  std::unique_ptr<DeviceMirror> mirror;  ///< null on a device that reads host memory
  backend::CommandList list;             // destroyed before the memory that it names
  std::vector<BoundAccess> accesses;     ///< for a context that orders its streams by events
};

/// An output of the subgraph that a range's kernels write straight into its buffer.
struct WrittenOutput {
  std::size_t output = 0;
  std::int64_t size_bytes = 0;
};

struct Recording {
  std::shared_ptr<const RangePlan> plan;
  std::vector<WrittenOutput> outputs;
  std::vector<std::shared_ptr<const void>> constants;  ///< on their devices; outlive the lists
  std::vector<Segment> segments;
  /// Where the last step writes its results' actual dimensions, one entry per output; empty unless
  /// the range ends in data-dependent shapes. Never resized after recording.
  std::vector<std::vector<std::int64_t>> actual_dims;
};

/// Fails: errors of the backends' command lists and of `bring_constant`; kResourceExhausted for a
///        device that is too small; kUnimplemented for strings on a device without host memory.
Result<std::unique_ptr<Recording>> record(const ModelState& model, const SubgraphCode& code,
                                          std::shared_ptr<const RangePlan> plan,
                                          const std::stop_token& stop = {});

}  // namespace sluice::exec
