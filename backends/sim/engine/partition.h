// How a device of virtual multiprocessors is divided among groups. A core is a multiprocessor.
#pragma once

#include <span>

#include "description/description.h"

namespace sluice::sim {

/// Cores that a group of so many gets: all of them as asked, but for green contexts, which round up
/// to the device's minimum and alignment, at most to the whole device.
int granted_cores(const Partition& partition, int requested, int device_cores);

/// One kernel under the mask scheme (StreamBox, USENIX ATC'24): its blocks are launched over the
/// whole device, a block that lands on a core outside the mask exits at once, and the others take
/// the work, block by block, from one counter.
struct MaskedRun {
  int num_launches = 1;
  int num_working_cores = 0;  ///< of the last launch
  bool is_lost = false;       ///< no block landed inside the mask, so that nothing was computed
};

/// The device is otherwise idle and places blocks on cores 0, 1, 2, ... in turns. A launch without
/// a worker loses all of its work: as published the host does not notice. With
/// `partition.is_checked` it compares the counter with the number of blocks, and launches again: a
/// block for each core.
MaskedRun run_masked(const Partition& partition, int device_cores, std::span<const int> mask,
                     std::int64_t num_blocks);

}  // namespace sluice::sim
