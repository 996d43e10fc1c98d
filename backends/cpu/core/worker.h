#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::cpu {

/// One member of the group that runs a step together.
///
/// Every worker of the group calls the same kernel for the same step and does its own share (single
/// program, many workers): a kernel never forks, joins or waits. `scratch` belongs to this worker
/// alone for the length of the call, is aligned to 64 bytes and as large as the plan asked for.
struct Worker {
  int index = 0;
  int count = 1;
  std::byte* scratch = nullptr;
};

/// Half-open range of work items.
struct Share {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// The part of `items` that falls to `worker`: contiguous, disjoint, covering, and cut at multiples
/// of `grain` (the last cut excepted).
inline Share share_of(std::int64_t items, std::int64_t grain, const Worker& worker) {
  const std::int64_t blocks = (items + grain - 1) / grain;
  const std::int64_t begin = blocks * worker.index / worker.count * grain;
  const std::int64_t end = blocks * (worker.index + 1) / worker.count * grain;
  return {begin < items ? begin : items, end < items ? end : items};
}

}  // namespace sluice::cpu
