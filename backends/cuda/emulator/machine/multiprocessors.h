// How multiprocessors of a device are divided among green contexts.
#pragma once

#include <vector>

#include "driver/types.h"

namespace sluice::cuda::emulator {

struct PartitionRule {
  unsigned min_count;
  unsigned alignment;
};

/// The smallest partition and the alignment of counts, by major compute capability: the table in
/// the documentation of cuDevSmResourceSplitByCount.
PartitionRule partition_rule(int major, bool ignores_coscheduling);

/// The sizes of at most `num_groups` partitions of at least `min_count` multiprocessors each, out
/// of `available`. All have one size, which is rounded up; fewer come back where they do not fit.
std::vector<unsigned> split_by_count(unsigned available, unsigned num_groups, unsigned min_count,
                                     PartitionRule rule);

}  // namespace sluice::cuda::emulator
