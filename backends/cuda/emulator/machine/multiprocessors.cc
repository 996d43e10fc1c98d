#include "emulator/machine/multiprocessors.h"

#include <algorithm>

namespace sluice::cuda::emulator {

PartitionRule partition_rule(int major, bool ignores_coscheduling) {
  if (major >= 9) return ignores_coscheduling ? PartitionRule{2, 2} : PartitionRule{8, 8};
  if (major == 8) return ignores_coscheduling ? PartitionRule{2, 2} : PartitionRule{4, 2};
  return {2, 2};
}

std::vector<unsigned> split_by_count(unsigned available, unsigned num_groups, unsigned min_count,
                                     PartitionRule rule) {
  const unsigned wanted = std::max(min_count, rule.min_count);
  if (wanted > available) return {};
  // All of them may be had whatever their number is: a GPU of 132 gives 132.
  const unsigned rounded = (wanted + rule.alignment - 1) / rule.alignment * rule.alignment;
  const unsigned size = std::min(rounded, available);
  return std::vector<unsigned>(std::min(num_groups, available / size), size);
}

}  // namespace sluice::cuda::emulator
