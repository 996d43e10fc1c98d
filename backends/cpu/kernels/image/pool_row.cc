#include "kernels/image/pool_row.h"

#include "core/simd.h"
#include "core/transpose_lanes.h"
#include "kernels/conv/conv_tile.h"
#include "kernels/rows/row_folds.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

template <PoolKind kKind, bool kChecks = true>
SLUICE_CPU_INLINE Vec join(Vec a, Vec b) {
  return kKind == PoolKind::kMax ? larger<kChecks>(a, b) : a + b;
}

template <PoolKind kKind>
SLUICE_CPU_INLINE float join(float a, float b) {
  if (kKind != PoolKind::kMax) return a + b;
  return a > b || a != a ? a : b;
}

template <PoolKind kKind>
SLUICE_CPU_INLINE float neutral() {
  return kKind == PoolKind::kMax ? -__builtin_inff() : 0.0F;
}

/// What an element adds to its window.
template <PoolKind kKind>
SLUICE_CPU_INLINE Vec taken(Vec x) {
  if constexpr (kKind == PoolKind::kNorm1) return abs(x);
  if constexpr (kKind == PoolKind::kNorm2) return x * x;
  return x;
}

template <PoolKind kKind>
SLUICE_CPU_INLINE float taken(float x) {
  if constexpr (kKind == PoolKind::kNorm1) return __builtin_fabsf(x);
  return kKind == PoolKind::kNorm2 ? x * x : x;
}

/// Whether squares of floats may have overflowed, or left out what counts, on the way to a norm.
SLUICE_CPU_INLINE bool is_inexact(float norm) { return !(norm > 1e-15F && norm < 1e18F); }

/// NaN if there is one.
SLUICE_CPU_INLINE float largest_lane(Vec v) {
  float best = v[0];
  for (int i = 1; i < kLanes; ++i) best = join<PoolKind::kMax>(best, v[i]);
  return best;
}

/// Vectors that are joined side by side, the last of which has `lanes` lanes.
template <PoolKind kKind, bool kChecks, int kVectors>
SLUICE_CPU_INLINE Vec join_vectors(const PoolRow& t, std::int64_t first, int lanes,
                                   float* columns) {
  Vec joined[kVectors];
  Vec probe = {};
  for (Vec& j : joined) j = broadcast(neutral<kKind>());
  for (std::int64_t s = 0; s < t.slices; ++s) {
    const float* at = t.input + s * t.input_slice + first;
    for (std::int64_t r = 0; r < t.rows; ++r, at += t.input_row) {
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const float* p = at + v * kLanes;
        const Vec x = v < kVectors - 1 ? load(p) : load_first(p, lanes);
        if (kKind == PoolKind::kMax && !kChecks) probe = fmadd(x, Vec{}, probe);
        joined[v] = join<kKind, kChecks>(joined[v], taken<kKind>(x));
      }
    }
  }
  SLUICE_CPU_UNROLL
  for (int v = 0; v < kVectors - 1; ++v) store(columns + first + v * kLanes, joined[v]);
  store_first(columns + first + (kVectors - 1) * kLanes, joined[kVectors - 1], lanes);
  return probe;
}

/// Joins the rows under the window, column by column. Without checks: whether there is a NaN, or
/// an infinity, for which a maximum needs them.
template <PoolKind kKind, bool kChecks>
SLUICE_CPU_INLINE bool join_rows(const PoolRow& t, float* columns) {
  const std::int64_t floats = t.input_cols * t.pixel;
  Vec probe = {};
  for (std::int64_t i = 0; i < floats;) {
    const std::int64_t vectors = (floats - i + kLanes - 1) / kLanes;
    const int most = vectors >= 4 ? 4 : vectors >= 2 ? 2 : 1;
    const std::int64_t left = floats - i - (most - 1) * kLanes;
    const int lanes = static_cast<int>(left < kLanes ? left : kLanes);
    if (most == 4) {
      probe += join_vectors<kKind, kChecks, 4>(t, i, lanes, columns);
    } else if (most == 2) {
      probe += join_vectors<kKind, kChecks, 2>(t, i, lanes, columns);
    } else {
      probe += join_vectors<kKind, kChecks, 1>(t, i, lanes, columns);
    }
    i += most * kLanes;
  }
  return any(probe != probe);
}

/// Kernel columns of the output pixel that starts at input column `first` that lie in [begin, end).
struct Taps {
  std::int64_t begin;
  std::int64_t end;
};

SLUICE_CPU_INLINE Taps taps_within(const PoolRow& t, std::int64_t first, std::int64_t begin,
                                   std::int64_t end) {
  const std::int64_t d = t.dilation;
  const std::int64_t from = first < begin ? (begin - first + d - 1) / d : 0;
  std::int64_t to = first < end ? (end - first + d - 1) / d : 0;
  if (to > t.kernel_cols) to = t.kernel_cols;
  return {from, to < from ? from : to};
}

/// The divisor of output column `c` of an average.
SLUICE_CPU_INLINE float divisor(const PoolRow& t, std::int64_t c) {
  return static_cast<float>(t.counted_rows) * t.counted_cols[c];
}

/// The norm of output column `c` in doubles, which hold the square of every float.
float exact_norm(const PoolRow& t, std::int64_t c, std::int64_t lane) {
  const std::int64_t first = c * t.stride - t.pad_begin;
  const Taps taps = taps_within(t, first, 0, t.input_cols);
  double sum = 0;
  for (std::int64_t s = 0; s < t.slices; ++s) {
    for (std::int64_t r = 0; r < t.rows; ++r) {
      const float* row = t.input + s * t.input_slice + r * t.input_row + lane;
      for (std::int64_t k = taps.begin; k < taps.end; ++k) {
        const double x = static_cast<double>(row[(first + k * t.dilation) * t.pixel]);
        sum += x * x;
      }
    }
  }
  return static_cast<float>(__builtin_sqrt(sum));
}

/// Computes norms again that are inexact, of `count` numbers from lane `lane` of column `c`; in
/// planes numbers are columns.
SLUICE_CPU_INLINE void mend_norms(const PoolRow& t, std::int64_t c, std::int64_t lane, int count,
                                  float* norms) {
  for (int i = 0; i < count; ++i) {
    if (!is_inexact(norms[i])) continue;
    norms[i] = t.pixel == 1 ? exact_norm(t, c + i, 0) : exact_norm(t, c, lane + i);
  }
}

template <PoolKind kKind, bool kChecks>
void blocked_windows(const PoolRow& t) {
  for (std::int64_t c = 0; c < t.output_cols; ++c) {
    const std::int64_t first = c * t.stride - t.pad_begin;
    const Taps taps = taps_within(t, first, 0, t.input_cols);
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      Vec joined = broadcast(neutral<kKind>());
      for (std::int64_t k = taps.begin; k < taps.end; ++k) {
        const float* at = t.columns + (first + k * t.dilation) * kBlock + lane;
        joined = join<kKind, kChecks>(joined, load(at));
      }
      if (kKind == PoolKind::kAverage) joined = joined / broadcast(divisor(t, c));
      if (kKind == PoolKind::kNorm2) joined = sqrt(joined);
      float* output = t.output + c * kBlock + lane;
      store(output, joined);
      if (kKind == PoolKind::kNorm2) mend_norms(t, c, lane, kLanes, output);
    }
  }
}

template <PoolKind kKind>
void plane_windows(const PoolRow& t) {
  for (std::int64_t c = 0; c < t.output_cols; ++c) {
    const std::int64_t first = c * t.stride - t.pad_begin;
    const Taps taps = taps_within(t, first, 0, t.input_cols);
    float joined = neutral<kKind>();
    for (std::int64_t k = taps.begin; k < taps.end; ++k) {
      joined = join<kKind>(joined, t.columns[first + k * t.dilation]);
    }
    if (kKind == PoolKind::kAverage) joined /= divisor(t, c);
    if (kKind == PoolKind::kNorm2) joined = __builtin_sqrtf(joined);
    t.output[c] = joined;
    if (kKind == PoolKind::kNorm2) mend_norms(t, c, 0, 1, t.output + c);
  }
}

/// x[0], x[stride], ...; `kStride` is 0 where it is not 1.
template <int kStride>
SLUICE_CPU_INLINE Vec load_apart(const float* x, std::int64_t stride) {
  if constexpr (kStride == 1) return load(x);
  Vec v;
  for (int i = 0; i < kLanes; ++i) v[i] = x[i * stride];
  return v;
}

// Every second number of two vectors, of the first (0) or the second (1) on. On AVX2 a move across
// the middle of a vector takes three times as long as one within a half: numbers keep an order of
// their own until `in_order`.

template <int kFirst>
SLUICE_CPU_INLINE Vec every_second_of(Vec a, Vec b) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  return _mm256_shuffle_ps(a, b, kFirst == 0 ? 0x88 : 0xdd);
#else
  VecI order;
  for (int i = 0; i < kLanes; ++i) order[i] = 2 * i + kFirst;
  return shuffle(a, b, order);
#endif
}

SLUICE_CPU_INLINE Vec in_order(Vec seconds) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(seconds), 0xd8));
#else
  return seconds;
#endif
}

/// Joins the columns of kVectors vectors of windows that are two columns apart. Neighbouring
/// columns of a window come from the same vectors.
template <PoolKind kKind, bool kChecks, int kVectors>
SLUICE_CPU_INLINE void join_seconds(const PoolRow& t, const float* at, Vec (&joined)[kVectors]) {
  for (std::int64_t k = 0; k < t.kernel_cols; ++k, at += t.dilation) {
    const bool has_next = t.dilation == 1 && k + 1 < t.kernel_cols;
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const Vec a = load(at + v * 2 * kLanes);
      const Vec b = load(at + (v * 2 + 1) * kLanes);
      joined[v] = join<kKind, kChecks>(joined[v], every_second_of<0>(a, b));
      if (has_next) joined[v] = join<kKind, kChecks>(joined[v], every_second_of<1>(a, b));
    }
    if (has_next) ++k, ++at;
  }
  SLUICE_CPU_UNROLL
  for (int v = 0; v < kVectors; ++v) joined[v] = in_order(joined[v]);
}

/// Vectors of windows from window `c` on, of which the last has `lanes`. Lanes are windows.
/// `columns` reaches as far as a last, partial vector reads (padded_columns).
template <PoolKind kKind, bool kChecks, int kStride, int kVectors>
SLUICE_CPU_INLINE void padded_vectors(const PoolRow& t, std::int64_t c, int lanes) {
  Vec joined[kVectors];
  for (Vec& j : joined) j = broadcast(neutral<kKind>());
  const float* at = t.columns + c * t.stride;
  if constexpr (kStride == 2) {
    join_seconds<kKind, kChecks>(t, at, joined);
  } else {
    for (std::int64_t k = 0; k < t.kernel_cols; ++k, at += t.dilation) {
      SLUICE_CPU_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const Vec x = load_apart<kStride>(at + v * kLanes * t.stride, t.stride);
        joined[v] = join<kKind, kChecks>(joined[v], x);
      }
    }
  }
  SLUICE_CPU_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const int some = v < kVectors - 1 ? kLanes : lanes;
    const std::int64_t first = c + v * kLanes;
    if (kKind == PoolKind::kAverage) {
      const Vec counted_rows = broadcast(static_cast<float>(t.counted_rows));
      joined[v] = joined[v] / (counted_rows * load_first(t.counted_cols + first, some));
    }
    if (kKind == PoolKind::kNorm2) joined[v] = sqrt(joined[v]);
    store_first(t.output + first, joined[v], some);
    if (kKind == PoolKind::kNorm2) mend_norms(t, first, 0, some, t.output + first);
  }
}

template <PoolKind kKind, bool kChecks, int kStride>
SLUICE_CPU_INLINE void padded_windows(const PoolRow& t) {
  for (std::int64_t c = 0; c < t.output_cols;) {
    const std::int64_t left = t.output_cols - c;
    if (left > kLanes) {
      const int lanes = static_cast<int>(left < 2 * kLanes ? left - kLanes : kLanes);
      padded_vectors<kKind, kChecks, kStride, 2>(t, c, lanes);
      c += 2 * kLanes;
    } else {
      padded_vectors<kKind, kChecks, kStride, 1>(t, c, static_cast<int>(left));
      c += kLanes;
    }
  }
}

template <PoolKind kKind, bool kChecks>
void windows_of(const PoolRow& t) {
  if (t.pixel == kBlock) return blocked_windows<kKind, kChecks>(t);
  if (t.padded_cols == 0) return plane_windows<kKind>(t);
  if (t.stride == 1) return padded_windows<kKind, kChecks, 1>(t);
  t.stride == 2 ? padded_windows<kKind, kChecks, 2>(t) : padded_windows<kKind, kChecks, 0>(t);
}

template <PoolKind kKind>
void block_all(const float* input, std::int64_t pixels, float* output) {
  // Four chains hide the latency of one, here and in plane_all.
  for (int lane = 0; lane < kBlock; lane += kLanes) {
    Vec joined[4];
    for (Vec& j : joined) j = broadcast(neutral<kKind>());
    for (std::int64_t p = 0; p < pixels; ++p) {
      joined[p % 4] = join<kKind>(joined[p % 4], taken<kKind>(load(input + p * kBlock + lane)));
    }
    Vec all = join<kKind>(join<kKind>(joined[0], joined[1]), join<kKind>(joined[2], joined[3]));
    if (kKind == PoolKind::kAverage) all = all / broadcast(static_cast<float>(pixels));
    if (kKind == PoolKind::kNorm2) all = sqrt(all);
    store(output + lane, all);
  }
}

template <PoolKind kKind>
void plane_all(const float* input, std::int64_t pixels, float* output) {
  Vec chains[4];
  for (Vec& chain : chains) chain = broadcast(neutral<kKind>());
  std::int64_t p = 0;
  for (; p + 4 * kLanes <= pixels; p += 4 * kLanes) {
    SLUICE_CPU_UNROLL
    for (int i = 0; i < 4; ++i) {
      chains[i] = join<kKind>(chains[i], taken<kKind>(load(input + p + i * kLanes)));
    }
  }
  for (; p + kLanes <= pixels; p += kLanes) {
    chains[0] = join<kKind>(chains[0], taken<kKind>(load(input + p)));
  }
  const Vec joined =
      join<kKind>(join<kKind>(chains[0], chains[1]), join<kKind>(chains[2], chains[3]));
  float all = kKind == PoolKind::kMax ? largest_lane(joined) : reduce_add(joined);
  for (; p < pixels; ++p) all = join<kKind>(all, taken<kKind>(input[p]));
  if (kKind == PoolKind::kAverage) all /= static_cast<float>(pixels);
  *output = kKind == PoolKind::kNorm2 ? __builtin_sqrtf(all) : all;
}

template <PoolKind kKind>
void all_of(const float* input, std::int64_t pixels, std::int64_t pixel, float* output) {
  if (pixel == kBlock) return block_all<kKind>(input, pixels, output);
  plane_all<kKind>(input, pixels, output);
}

template <PoolKind kKind>
void write_padding(const PoolRow& t) {
  for (std::int64_t i = 0; i < t.pad_begin; ++i) t.columns[i] = neutral<kKind>();
  for (std::int64_t i = t.pad_begin + t.input_cols; i < t.padded_cols; ++i) {
    t.columns[i] = neutral<kKind>();
  }
}

/// The rows under the windows are joined first: neighbouring windows share columns, each of which
/// is joined once. A window reads across the vectors that were stored, which takes the processor
/// long right behind the store: the windows of one row wait until the other rows are joined.
template <PoolKind kKind, bool kChecks>
bool join_all_rows(const PoolRow* rows, std::int64_t count) {
  bool needs_checks = false;
  for (const PoolRow* t = rows; t < rows + count; ++t) {
    if (t->padded_cols > 0 && !t->has_padding) write_padding<kKind>(*t);
    float* columns = t->columns + (t->padded_cols > 0 ? t->pad_begin : 0);
    needs_checks |= join_rows<kKind, kChecks>(*t, columns);
  }
  return needs_checks;
}

template <PoolKind kKind>
void rows_of(const PoolRow* rows, std::int64_t count) {
  if (kKind == PoolKind::kMax && join_all_rows<kKind, false>(rows, count)) {
    join_all_rows<kKind, true>(rows, count);
    for (const PoolRow* t = rows; t < rows + count; ++t) windows_of<kKind, true>(*t);
    return;
  }
  if (kKind != PoolKind::kMax) join_all_rows<kKind, false>(rows, count);
  for (const PoolRow* t = rows; t < rows + count; ++t) windows_of<kKind, false>(*t);
}

}  // namespace

void pool_rows(const PoolRow* rows, std::int64_t count) {
  if (count == 0) return;
  switch (rows->kind) {
    case PoolKind::kMax: return rows_of<PoolKind::kMax>(rows, count);
    case PoolKind::kNorm1: return rows_of<PoolKind::kNorm1>(rows, count);
    case PoolKind::kNorm2: return rows_of<PoolKind::kNorm2>(rows, count);
    default: return rows_of<PoolKind::kAverage>(rows, count);
  }
}

void pool_all(PoolKind kind, const float* input, std::int64_t pixels, std::int64_t pixel,
              float* output) {
  if (kind == PoolKind::kMax) return all_of<PoolKind::kMax>(input, pixels, pixel, output);
  if (kind == PoolKind::kNorm1) return all_of<PoolKind::kNorm1>(input, pixels, pixel, output);
  const bool is_norm = kind == PoolKind::kNorm2;
  is_norm ? all_of<PoolKind::kNorm2>(input, pixels, pixel, output)
          : all_of<PoolKind::kAverage>(input, pixels, pixel, output);
  // The sum may have left the range of floats where the result does not.
  for (std::int64_t i = 0; i < pixel; ++i) {
    if (is_norm ? !is_inexact(output[i]) : __builtin_fabsf(output[i]) < __builtin_inff()) continue;
    double sum = 0;
    for (std::int64_t p = 0; p < pixels; ++p) {
      const double x = static_cast<double>(input[p * pixel + i]);
      sum += is_norm ? x * x : x;
    }
    output[i] =
        static_cast<float>(is_norm ? __builtin_sqrt(sum) : sum / static_cast<double>(pixels));
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
