#include "kernels/image/add_rows.h"

#include "core/simd.h"
#include "core/transpose_lanes.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Adds the first `count` lanes of `x` to `to`, or writes them over it.
template <bool kReplaces>
SLUICE_CPU_INLINE void put_first(float* to, Vec x, std::int64_t count) {
  if constexpr (kReplaces) {
    return count >= kLanes ? store(to, x) : store_first(to, x, static_cast<int>(count));
  }
  if (count >= kLanes) return store(to, load(to) + x);
  store_first(to, load_first(to, static_cast<int>(count)) + x, static_cast<int>(count));
}

/// Lanes [begin, end) of `p`, zeros around them; nothing else is touched.
SLUICE_CPU_INLINE Vec load_between(const float* p, int begin, int end) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << end) - (1U << begin)), p);
#elif defined(__AVX2__)
  // Lanes before `end` and from `begin` on, each one load from here.
  static constexpr std::int32_t kMasks[] = {-1, -1, -1, -1, -1, -1, -1, -1, 0,  0,  0,  0,
                                            0,  0,  0,  0,  -1, -1, -1, -1, -1, -1, -1, -1};
  const auto mask_at = [](int at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks + at));
  };
  return _mm256_maskload_ps(p,
                            _mm256_and_si256(mask_at(kLanes - end), mask_at(2 * kLanes - begin)));
#else
  Vec v{};
  for (int i = begin; i < end; ++i) v[i] = p[i];
  return v;
#endif
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
    put_first<false>(to + 2 * i, shuffle(x, Vec{}, low), places);
    if (places > kLanes)
      put_first<false>(to + 2 * i + kLanes, shuffle(x, Vec{}, high), places - kLanes);
  }
}

/// To all places, those of `even` and of `odd` in turns.
template <bool kReplaces>
SLUICE_CPU_INLINE void put_in_turns(const float* even, const float* odd, std::int64_t count,
                                    Vec bias, float* to) {
  VecI low;
  VecI high;
  for (int i = 0; i < kLanes; ++i) {
    low[i] = i / 2 + i % 2 * kLanes;
    high[i] = low[i] + kLanes / 2;
  }
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t left = count - i < kLanes ? count - i : kLanes;
    const int lanes = static_cast<int>(left);
    const Vec a = (lanes == kLanes ? load(even + i) : load_first(even + i, lanes)) + bias;
    const Vec b = (lanes == kLanes ? load(odd + i) : load_first(odd + i, lanes)) + bias;
    float* at = to + 2 * i;
    put_first<kReplaces>(at, shuffle(a, b, low), 2 * left);
    if (2 * left <= kLanes) continue;
    put_first<kReplaces>(at + kLanes, shuffle(a, b, high), 2 * left - kLanes);
  }
}

/// One row. `between` may be null.
SLUICE_CPU_INLINE void add_row(const AddedRows& rows, const float* from, const float* between,
                               float* to) {
  if (between != nullptr) return put_in_turns<false>(from, between, rows.count, Vec{}, to);
  if (rows.to_step == 2) return add_apart(from, rows.count, to);
  for (std::int64_t i = 0; i < rows.count; ++i) to[i * rows.to_step] += from[i];
}

SLUICE_CPU_INLINE void replace_row(const AddedRows& rows, const float* from, const float* between,
                                   float* to) {
  if (between != nullptr) {
    return put_in_turns<true>(from, between, rows.count, broadcast(rows.bias), to);
  }
  for (std::int64_t i = 0; i < rows.count; ++i) to[i * rows.to_step] = from[i] + rows.bias;
}

}  // namespace

void add_shifted_rows(const ShiftedRow* rows, std::int64_t count, std::int64_t width, float* to) {
  std::int64_t all_begin = 0;  // of the columns that every row has
  std::int64_t all_end = width;
  for (std::int64_t r = 0; r < count; ++r) {
    if (rows[r].begin > all_begin) all_begin = rows[r].begin;
    if (rows[r].end < all_end) all_end = rows[r].end;
  }
  for (std::int64_t i = 0; i < width; i += kLanes) {
    if (i >= all_begin && i + kLanes <= all_end) {
      Vec sum = load(to + i);
      for (std::int64_t r = 0; r < count; ++r) sum += load(rows[r].from + i);
      store(to + i, sum);
      continue;
    }
    const std::int64_t left = width - i;
    const int lanes = static_cast<int>(left < kLanes ? left : kLanes);
    Vec sum = lanes == kLanes ? load(to + i) : load_first(to + i, lanes);
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t begin = rows[r].begin - i;
      const std::int64_t end = rows[r].end - i;
      if (begin <= 0 && end >= kLanes) {
        sum += load(rows[r].from + i);
      } else if (begin < kLanes && end > 0) {
        sum += load_between(rows[r].from + i, static_cast<int>(begin < 0 ? 0 : begin),
                            static_cast<int>(end < kLanes ? end : kLanes));
      }
    }
    lanes == kLanes ? store(to + i, sum) : store_first(to + i, sum, lanes);
  }
}

void add_rows(const AddedRows& rows) {
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const float* from = rows.from + r * rows.from_row;
    float* to = rows.to + r * rows.to_row;
    const float* between =
        rows.from_between == nullptr ? nullptr : rows.from_between + r * rows.from_row;
    rows.replaces ? replace_row(rows, from, between, to) : add_row(rows, from, between, to);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
