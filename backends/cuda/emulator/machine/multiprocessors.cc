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
  const unsigned size = (wanted + rule.alignment - 1) / rule.alignment * rule.alignment;
  if (size > available) return {};
  return std::vector<unsigned>(std::min(num_groups, available / size), size);
}

}  // namespace sluice::cuda::emulator
