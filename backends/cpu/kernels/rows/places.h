#pragma once

#include <cstdint>

#include "core/isa.h"
#include "core/worker.h"
#include "kernels/elements/typed.h"

namespace sluice::cpu {

/// Where the largest or smallest numbers along the middle axis of a dense [outer][axis][inner]
/// tensor are. A NaN is beyond every number. `takes_last` decides among equal numbers.
struct PlacesPlan {
  std::int64_t outer = 0;
  std::int64_t axis = 0;
  std::int64_t inner = 1;
  bool is_largest = true;
  bool takes_last = false;
};

/// Whether there is a form for the type.
constexpr bool has_places(Number type) {
  return type == Number::kF32 || type == Number::kF64 || type == Number::kI64 ||
         type == Number::kI32 || type == Number::kI8 || type == Number::kU8;
}

/// `y` is [outer][inner]. Requires: 1 <= axis <= INT32_MAX, has_places(type).
SLUICE_CPU_EACH_ISA(void run_places(const PlacesPlan& plan, Number type, const void* x,
                                    std::int64_t* y, const Worker& worker);)

}  // namespace sluice::cpu
