// Where a compiled model is cut into segments.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "package/executable.h"

namespace sluice::compile {

/// Bounds on the segments of a compiled model. Every border between segments costs a hand-over,
/// and with memory of its own a device adds a copy.
struct PartitionLimits {
  int min_operations = 1;  ///< that each segment must have
  int max_segments = 0;    ///< 0 for no limit
  double min_share = 0;    ///< of all operations with kernels that each backend in use must run
};

/// Segments that start where the backend changes, at the first operation of each linked model, and
/// at each operation whose name is in `cuts`; named after the model or that operation. None for
/// neither cuts nor cores: then the package says nothing.
/// Fails: kInvalidArgument  a name that no operation has, or one that several have; `cores` has
///                          another length than there are segments (the message names them); cores
///                          below 1
Result<std::vector<package::SegmentSpec>> cut_segments(const package::Executable& executable,
                                                       std::span<const std::string> cuts,
                                                       std::span<const std::int32_t> cores);

/// Succeeds if the segments of `executable` respect `limits`.
/// Fails: kInvalidArgument naming the segments, their backends and what to change.
Status check_limits(const package::Executable& executable, const PartitionLimits& limits);

}  // namespace sluice::compile
