#include "engine/partition.h"

#include <algorithm>
#include <vector>

namespace sluice::sim {
namespace {

/// Cores of the mask on which at least one of `num_blocks` blocks lands.
int num_working(std::span<const int> mask, std::int64_t num_blocks) {
  const auto last = static_cast<int>(std::min<std::int64_t>(num_blocks, 1 << 20));
  return static_cast<int>(std::ranges::count_if(mask, [&](int core) { return core < last; }));
}

}  // namespace

int granted_cores(const Partition& partition, int requested, int device_cores) {
  if (partition.scheme != PartitionScheme::kGreen || requested == 0) return requested;
  const int least = std::max(requested, partition.minimum);
  const int rounded = (least + partition.alignment - 1) / partition.alignment * partition.alignment;
  return std::min(rounded, device_cores);
}

MaskedRun run_masked(const Partition& partition, int device_cores, std::span<const int> mask,
                     std::int64_t num_blocks) {
  MaskedRun run;
  run.num_working_cores = num_working(mask, num_blocks);
  if (run.num_working_cores > 0) return run;
  if (!partition.is_checked) {
    run.is_lost = true;
    return run;
  }
  ++run.num_launches;
  run.num_working_cores = num_working(mask, device_cores);
  return run;
}

}  // namespace sluice::sim
