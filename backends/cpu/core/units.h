// Units that tables of sizes are written in.
#pragma once

#include <cstdint>

namespace sluice::cpu {

inline constexpr std::int64_t kKiB = 1024;

}  // namespace sluice::cpu
