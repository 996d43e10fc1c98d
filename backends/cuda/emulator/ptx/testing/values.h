// Inputs for tests: spread over a range, the same in each run.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/ptx/memory/random.h"

namespace sluice::cuda::ptx::testing {

inline std::vector<float> floats(std::size_t count, std::uint64_t seed = 1, float range = 2) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = (static_cast<float>(random.next() >> 40) * 0x1p-23f - 1) * range;
  }
  return values;
}

}  // namespace sluice::cuda::ptx::testing
