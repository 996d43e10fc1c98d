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

/// Some neighbouring lanes, and how to load them with zeros around: nothing else is touched.
#if defined(__AVX512F__)
using Lanes = __mmask16;

SLUICE_CPU_INLINE Lanes lanes_between(int begin, int end) {
  return static_cast<Lanes>((1U << end) - (1U << begin));
}
SLUICE_CPU_INLINE Vec load_lanes(const float* p, Lanes lanes) {
  return _mm512_maskz_loadu_ps(lanes, p);
}
#elif defined(__AVX2__)
using Lanes = VecI;

SLUICE_CPU_INLINE Lanes lanes_between(int begin, int end) {
  return (Lanes)_mm256_andnot_si256(first_mask(begin), first_mask(end));
}
SLUICE_CPU_INLINE Vec load_lanes(const float* p, Lanes lanes) {
  return _mm256_maskload_ps(p, (__m256i)lanes);
}
#else
struct Lanes {
  int begin;
  int end;
};

SLUICE_CPU_INLINE Lanes lanes_between(int begin, int end) { return {begin, end}; }
SLUICE_CPU_INLINE Vec load_lanes(const float* p, Lanes lanes) {
  Vec v{};
  for (int i = lanes.begin; i < lanes.end; ++i) v[i] = p[i];
  return v;
}
#endif

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

/// Neighbouring vectors of a row, for which the lanes of everything added are found once.
constexpr int kStrip = 4;

/// The lanes of each vector of a strip.
struct StripLanes {
  Lanes of[kStrip][kMostShiftedRows];
};

SLUICE_CPU_INLINE int within(std::int64_t column) {
  return static_cast<int>(column < 0 ? 0 : column < kLanes ? column : kLanes);
}

SLUICE_CPU_INLINE void find_lanes(const ShiftedRows& s, std::int64_t first, int vectors,
                                  StripLanes* lanes) {
  for (int v = 0; v < vectors; ++v) {
    const std::int64_t column = first + v * kLanes;
    for (std::int64_t i = 0; i < s.count; ++i) {
      const int begin = within(s.added[i].begin - column);
      const int end = within(s.added[i].end - column);
      lanes->of[v][i] = lanes_between(begin < end ? begin : end, end);
    }
  }
}

/// Vectors of which everything added has all lanes.
SLUICE_CPU_INLINE void add_whole(const ShiftedRows& s, std::int64_t first, int vectors) {
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t column = first + v * kLanes;
      float* to = s.to + r * s.to_row + column;
      const std::int64_t from = r * s.from_row + column;
      Vec sum = load(to);
      for (std::int64_t i = 0; i < s.count; ++i) sum += load(s.added[i].from + from);
      store(to, sum);
    }
  }
}

SLUICE_CPU_INLINE void add_parts(const ShiftedRows& s, std::int64_t first, int vectors) {
  StripLanes lanes;
  find_lanes(s, first, vectors, &lanes);
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t column = first + v * kLanes;
      float* to = s.to + r * s.to_row + column;
      const std::int64_t from = r * s.from_row + column;
      const int some = within(s.width - column);
      Vec sum = some == kLanes ? load(to) : load_first(to, some);
      for (std::int64_t i = 0; i < s.count; ++i) {
        sum += load_lanes(s.added[i].from + from, lanes.of[v][i]);
      }
      some == kLanes ? store(to, sum) : store_first(to, sum, some);
    }
  }
}

}  // namespace

void add_shifted_rows(const ShiftedRows& s) {
  std::int64_t all_begin = 0;  // of the columns that everything added has
  std::int64_t all_end = s.width;
  for (std::int64_t i = 0; i < s.count; ++i) {
    if (s.added[i].begin > all_begin) all_begin = s.added[i].begin;
    if (s.added[i].end < all_end) all_end = s.added[i].end;
  }
  for (std::int64_t first = 0; first < s.width; first += kStrip * kLanes) {
    const std::int64_t left = (s.width - first + kLanes - 1) / kLanes;
    const int vectors = static_cast<int>(left < kStrip ? left : kStrip);
    const bool is_whole = first >= all_begin && first + vectors * kLanes <= all_end;
    is_whole ? add_whole(s, first, vectors) : add_parts(s, first, vectors);
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
