// What a multiprocessor of a compute capability holds.
#pragma once

#include <string_view>

#include "emulator/machine/description.h"

namespace sluice::cuda::emulator {

/// Shared memory of a block without cuFuncSetAttribute, and static shared memory: of every GPU.
inline constexpr int kUsualSharedBytes = 48 * 1024;

struct Limits {
  std::string_view capability;  ///< "8.6"
  int major;
  int minor;
  int threads;       ///< of a multiprocessor
  int blocks;        ///< of a multiprocessor
  int shared_bytes;  ///< of a multiprocessor

  /// The driver keeps a part of each block's shared memory from 8.0 on.
  int reserved_shared_bytes() const { return major >= 8 ? 1024 : 0; }
  /// What cuFuncSetAttribute allows a block, static and dynamic.
  int max_block_shared_bytes() const { return shared_bytes - reserved_shared_bytes(); }
};

/// The limits of a capability by its text; null for one that the emulator does not know.
const Limits* find_limits(std::string_view capability);

/// Requires: the emulator knows the device's capability.
const Limits& limits_of(const DeviceDescription& device);

}  // namespace sluice::cuda::emulator
