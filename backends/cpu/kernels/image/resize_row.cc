#include "kernels/image/resize_row.h"

#include "core/simd.h"
#include "core/transpose_lanes.h"
#include "kernels/conv/conv_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// a + weight * (b - a): one rounding less than two products, and exactly `a` for weight 0.
SLUICE_CPU_INLINE Vec blend(Vec a, Vec b, Vec weight_of_b) { return fmadd(weight_of_b, b - a, a); }

SLUICE_CPU_INLINE Vec load_up_to(const float* p, int lanes) {
  return lanes == kLanes ? load(p) : load_first(p, lanes);
}

/// row[index[0]], row[index[1]], ... Indices that lie within two vectors, as where a row grows or
/// halves, are a shuffle of these.
SLUICE_CPU_INLINE Vec pick(const float* row, std::int64_t width, const std::int32_t* index,
                           int lanes) {
  const std::int64_t base = index[0];
  if (index[lanes - 1] - base >= 2 * kLanes) {
    Vec x = {};
    for (int i = 0; i < lanes; ++i) x[i] = row[index[i]];
    return x;
  }
  // Bits of integers move as those of floats.
  VecI places = (VecI)load_up_to(reinterpret_cast<const float*>(index), lanes);
  places = (places - broadcast_int(index[0])) & broadcast_int(2 * kLanes - 1);
  const std::int64_t left = width - base;
  if (left >= 2 * kLanes) return shuffle(load(row + base), load(row + base + kLanes), places);
  const std::int64_t beyond = left < kLanes ? 0 : left - kLanes;
  return shuffle(load_first(row + base, static_cast<int>(left < kLanes ? left : kLanes)),
                 load_first(row + base + left - beyond, static_cast<int>(beyond)), places);
}

constexpr int kDoubles = kLanes / 2;
using Doubles = double __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
using Wholes = std::int32_t __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES / 2)));

/// The product, rounded: the compiler would join it to the sum.
SLUICE_CPU_INLINE Doubles rounded_product(Doubles a, Doubles b) {
  Doubles product = a * b;
  asm("" : "+x"(product));
  return product;
}

/// As many bytes as `Doubles` has numbers.
template <typename T>
struct BytesLike;
template <>
struct BytesLike<std::uint8_t> {
  using Vector = std::uint8_t __attribute__((vector_size(kDoubles)));
};
template <>
struct BytesLike<std::int8_t> {
  using Vector = std::int8_t __attribute__((vector_size(kDoubles)));
};

template <typename T>
SLUICE_CPU_INLINE void add_integers(const T* row, double weight, std::int64_t width, bool is_first,
                                    double* sum) {
  using Numbers = typename BytesLike<T>::Vector;
  const Doubles weights = weight - Doubles{};
  for (std::int64_t c = 0; c < width; c += kDoubles) {
    const std::int64_t left = width - c;
    const int lanes = static_cast<int>(left < kDoubles ? left : kDoubles);
    Numbers numbers = {};
    Doubles so_far = {};
    if (lanes == kDoubles) {
      __builtin_memcpy(&numbers, row + c, sizeof numbers);
      if (!is_first) __builtin_memcpy(&so_far, sum + c, sizeof so_far);
    } else {
      for (int i = 0; i < lanes; ++i) numbers[i] = row[c + i];
      for (int i = 0; i < lanes && !is_first; ++i) so_far[i] = sum[c + i];
    }
    so_far += rounded_product(weights, __builtin_convertvector(numbers, Doubles));
    if (lanes == kDoubles) {
      __builtin_memcpy(sum + c, &so_far, sizeof so_far);
    } else {
      for (int i = 0; i < lanes; ++i) sum[c + i] = so_far[i];
    }
  }
}

template <typename T>
SLUICE_CPU_INLINE void between_columns(const ResizeWeights& columns, const double* row,
                                       double least, double most, T* output, std::int64_t copies) {
  for (std::int64_t i = 0; i < columns.size; i += kDoubles) {
    const std::int64_t left = columns.size - i;
    const int lanes = static_cast<int>(left < kDoubles ? left : kDoubles);
    Doubles sum = {};
    for (std::int64_t k = 0; k < columns.count; ++k) {
      const std::int64_t at = k * columns.size + i;
      Doubles x = {};
      Doubles weights = 1.0 - Doubles{};
      if (lanes == kDoubles) {
        SLUICE_CPU_UNROLL
        for (int lane = 0; lane < kDoubles; ++lane) x[lane] = row[columns.index[at + lane]];
        if (columns.exact != nullptr)
          __builtin_memcpy(&weights, columns.exact + at, sizeof weights);
      } else {
        for (int lane = 0; lane < lanes; ++lane) {
          x[lane] = row[columns.index[at + lane]];
          if (columns.exact != nullptr) weights[lane] = columns.exact[at + lane];
        }
      }
      sum += rounded_product(weights, x);
    }
    sum = sum < least ? least - Doubles{} : sum;
    sum = sum > most ? most - Doubles{} : sum;
    const auto bytes = __builtin_convertvector(__builtin_convertvector(sum, Wholes),
                                               typename BytesLike<T>::Vector);
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      T* to = output + copy * columns.size + i;
      if (lanes == kDoubles) {
        __builtin_memcpy(to, &bytes, sizeof bytes);
      } else {
        for (int lane = 0; lane < lanes; ++lane) to[lane] = bytes[lane];
      }
    }
  }
}

}  // namespace

void resize_row_nearest(const ResizeTap* taps, std::int64_t pixels, const float* row,
                        float* output) {
  for (std::int64_t p = 0; p < pixels; ++p) {
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      store(output + p * kBlock + lane, load(row + taps[p].first * kBlock + lane));
    }
  }
}

void resize_row_linear(const ResizeTap* taps, std::int64_t pixels, const float* first,
                       const float* second, float second_weight, float* output) {
  const Vec down = broadcast(second_weight);
  for (std::int64_t p = 0; p < pixels; ++p) {
    const std::int64_t left = taps[p].first * kBlock;
    const std::int64_t right = taps[p].second * kBlock;
    const Vec across = broadcast(taps[p].second_weight);
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      const Vec top = blend(load(first + left + lane), load(first + right + lane), across);
      const Vec bottom = blend(load(second + left + lane), load(second + right + lane), across);
      store(output + p * kBlock + lane, blend(top, bottom, down));
    }
  }
}

void resize_add_row(const float* row, float weight, std::int64_t width, bool is_first, float* sum) {
  if (is_first) {
    for (std::int64_t c = 0; c < width; ++c) sum[c] = weight * row[c];
  } else {
    for (std::int64_t c = 0; c < width; ++c) sum[c] += weight * row[c];
  }
}

void resize_nearest(const ResizeWeights& columns, const std::int32_t* rows, std::int64_t count,
                    const float* plane, std::int64_t width, float* output) {
  const std::int64_t size = columns.size;
  for (std::int64_t i = 0; i < size; i += kLanes) {
    // The last vector begins early instead of being cut.
    const std::int64_t at = i < size - kLanes ? i : size - kLanes;
    const std::int32_t* index = columns.index + at;
    const std::int64_t base = index[0] < width - kLanes ? index[0] : width - kLanes;
    if (index[kLanes - 1] - base >= kLanes) {
      for (std::int64_t r = 0; r < count; ++r) {
        store(output + r * size + at, pick(plane + rows[r] * width, width, index, kLanes));
      }
      continue;
    }
    // One vector of a row holds all of these columns, and each row needs the same shuffle.
    VecI places = {};
    __builtin_memcpy(&places, index, sizeof places);
    places -= broadcast_int(static_cast<std::int32_t>(base));
    for (std::int64_t r = 0; r < count; ++r) {
      const Vec only = load(plane + rows[r] * width + base);
      store(output + r * size + at, shuffle(only, only, places));
    }
  }
}

void resize_between_columns(const ResizeWeights& columns, const float* row, std::int64_t width,
                            float* output, std::int64_t copies) {
  for (std::int64_t i = 0; i < columns.size; i += kLanes) {
    const std::int64_t left = columns.size - i;
    const int lanes = static_cast<int>(left < kLanes ? left : kLanes);
    Vec sum = {};
    for (std::int64_t k = 0; k < columns.count; ++k) {
      const Vec x = pick(row, width, columns.index + k * columns.size + i, lanes);
      if (columns.weights == nullptr) {
        sum = x;
      } else {
        sum = fmadd(load_up_to(columns.weights + k * columns.size + i, lanes), x, sum);
      }
    }
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      float* to = output + copy * columns.size + i;
      lanes == kLanes ? store(to, sum) : store_first(to, sum, lanes);
    }
  }
}

void resize_add_row_u8(const std::uint8_t* row, double weight, std::int64_t width, bool is_first,
                       double* sum) {
  add_integers(row, weight, width, is_first, sum);
}

void resize_add_row_i8(const std::int8_t* row, double weight, std::int64_t width, bool is_first,
                       double* sum) {
  add_integers(row, weight, width, is_first, sum);
}

void resize_between_columns_u8(const ResizeWeights& columns, const double* row,
                               std::int64_t /*width*/, std::uint8_t* output, std::int64_t copies) {
  between_columns(columns, row, 0, 255, output, copies);
}

void resize_between_columns_i8(const ResizeWeights& columns, const double* row,
                               std::int64_t /*width*/, std::int8_t* output, std::int64_t copies) {
  between_columns(columns, row, -128, 127, output, copies);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
