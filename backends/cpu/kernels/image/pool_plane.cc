#include "kernels/image/pool_plane.h"

#include "core/simd.h"
#include "kernels/rows/row_folds.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// What a window gives that lies in the padding alone.
constexpr float kLeast = -kMostFinite;

void write_padding(const PoolPlane& t, float padding) {
  const std::int64_t floats = t.padded_floats();
  for (std::int64_t i = 0; i < floats; ++i) t.padded[i] = padding;
}

/// Copies the rows into the scratch plane. Whether there is a NaN, or an infinity.
SLUICE_CPU_INLINE bool copy_rows(const PoolPlane& t) {
  Vec probe = {};
  const std::int64_t pitch = t.pitch();
  for (std::int64_t r = 0; r < t.rows; ++r) {
    const float* from = t.input + r * t.input_cols;
    float* to = t.padded + (t.pad_rows + r) * pitch + t.pad_cols;
    std::int64_t c = 0;
    for (; c + kLanes <= t.input_cols; c += kLanes) {
      const Vec x = load(from + c);
      probe = fmadd(x, Vec{}, probe);
      store(to + c, x);
    }
    if (c == t.input_cols) continue;
    const int lanes = static_cast<int>(t.input_cols - c);
    const Vec x = load_first(from + c, lanes);
    probe = fmadd(x, Vec{}, probe);
    store_first(to + c, x, lanes);
  }
  return any(probe != probe);
}

/// Joins `taps` vectors that are `step` apart.
template <bool kChecks, int kVectors>
SLUICE_CPU_INLINE void join_taps(const float* from, std::int64_t taps, std::int64_t step,
                                 Vec (&joined)[kVectors]) {
  SLUICE_CPU_UNROLL
  for (int v = 0; v < kVectors; ++v) joined[v] = load(from + v * kLanes);
  for (std::int64_t k = 1; k < taps; ++k) {
    from += step;
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      joined[v] = larger<kChecks>(joined[v], load(from + v * kLanes));
    }
  }
}

/// Joins the rows under the windows, all columns of all rows in one go. Vectors may reach kBehind
/// floats behind the last row.
template <bool kChecks>
SLUICE_CPU_INLINE void join_rows(const PoolPlane& t) {
  constexpr int kVectors = 4;
  const std::int64_t floats = t.output_rows * t.pitch();
  const std::int64_t step = t.row_dilation * t.pitch();
  for (std::int64_t i = 0; i < floats; i += kVectors * kLanes) {
    Vec joined[kVectors];
    join_taps<kChecks>(t.padded + i, t.kernel_rows, step, joined);
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kVectors; ++v) store(t.joined + i + v * kLanes, joined[v]);
  }
}

template <bool kChecks>
SLUICE_CPU_INLINE void join_columns(const PoolPlane& t) {
  const std::int64_t cols = t.output_cols;
  for (std::int64_t r = 0; r < t.output_rows; ++r) {
    const float* from = t.joined + r * t.pitch();
    float* to = t.output + r * cols;
    Vec joined[1];
    // The last vector overlaps the one before.
    for (std::int64_t c = 0; c < cols && cols >= kLanes; c += kLanes) {
      const std::int64_t at = c + kLanes <= cols ? c : cols - kLanes;
      join_taps<kChecks>(from + at, t.kernel_cols, t.col_dilation, joined);
      store(to + at, joined[0]);
    }
    if (cols >= kLanes) continue;
    join_taps<kChecks>(from, t.kernel_cols, t.col_dilation, joined);
    store_first(to, joined[0], static_cast<int>(cols));
  }
}

template <bool kChecks>
void join_all(const PoolPlane& t) {
  join_rows<kChecks>(t);
  join_columns<kChecks>(t);
}

}  // namespace

void pool_plane(const PoolPlane& plane) {
  if (!plane.has_padding) write_padding(plane, kLeast);
  if (!copy_rows(plane)) return join_all<false>(plane);
  write_padding(plane, -__builtin_inff());  // an infinity is less than kLeast
  copy_rows(plane);
  join_all<true>(plane);
  write_padding(plane, kLeast);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
