#pragma once

#include <cstdint>

namespace sluice::cpu {

/// How many pieces of `size` cover `whole`. Requires: whole >= 0, size > 0.
inline std::int64_t divide_up(std::int64_t whole, std::int64_t size) {
  return (whole + size - 1) / size;
}

}  // namespace sluice::cpu
