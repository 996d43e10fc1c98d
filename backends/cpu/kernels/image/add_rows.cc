#include "kernels/image/add_rows.h"

#include "core/simd.h"
#include "core/transpose_lanes.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

SLUICE_CPU_INLINE void add_first(float* to, Vec x, std::int64_t count) {
  if (count >= kLanes) return store(to, load(to) + x);
  store_first(to, load_first(to, static_cast<int>(count)) + x, static_cast<int>(count));
}

SLUICE_CPU_INLINE void add_neighbours(const float* from, std::int64_t count, float* to) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(to + i, load(to + i) + load(from + i));
  if (i < count) add_first(to + i, load_first(from + i, static_cast<int>(count - i)), count - i);
}

/// To every second place. The places between get a zero added.
SLUICE_CPU_INLINE void add_apart(const float* from, std::int64_t count, float* to) {
  VecI low = broadcast_int(kLanes);
  VecI high = broadcast_int(kLanes);
  for (int i = 0; i < kLanes / 2; ++i) {
    low[2 * i] = i;
    high[2 * i] = kLanes / 2 + i;
  }
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t left = count - i < kLanes ? count - i : kLanes;
    const Vec x = left == kLanes ? load(from + i) : load_first(from + i, static_cast<int>(left));
    const std::int64_t places = 2 * left - 1;
    add_first(to + 2 * i, shuffle(x, Vec{}, low), places);
    if (places > kLanes) add_first(to + 2 * i + kLanes, shuffle(x, Vec{}, high), places - kLanes);
  }
}

}  // namespace

void add_rows(const AddedRows& rows) {
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const float* from = rows.from + r * rows.from_row;
    float* to = rows.to + r * rows.to_row;
    if (rows.to_step == 1) {
      add_neighbours(from, rows.count, to);
    } else if (rows.to_step == 2) {
      add_apart(from, rows.count, to);
    } else {
      for (std::int64_t i = 0; i < rows.count; ++i) to[i * rows.to_step] += from[i];
    }
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
