#include "kernels/image/pool_numbers.h"

#include "core/simd.h"
#include "kernels/elements/numbers.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

template <typename T>
constexpr T least() {
  if constexpr (kIsFloat<T>) return -__builtin_inf();
  if constexpr (!kIsFloat<T>) return static_cast<T>(kIsSigned<T> ? 1U << (sizeof(T) * 8 - 1) : 0);
}

template <typename T>
SLUICE_CPU_INLINE T larger_of(T a, T b) {
  const T larger = a > b ? a : b;
  if constexpr (!kIsFloat<T>) return larger;
  return a != a ? a : larger;  // a NaN of b is not below a
}

/// Joins the rows first, then the columns of what they come to.
template <typename T>
void pool(const NumberPoolRow& row) {
  auto* columns = static_cast<T*>(row.columns);
  auto* output = static_cast<T*>(row.output);
  const std::int64_t padded = row.padded_cols();
  for (std::int64_t c = 0; c < padded; ++c) columns[c] = least<T>();
  T* __restrict joined = columns + row.pad_begin;
  for (std::int64_t r = 0; r < row.rows; ++r) {
    const T* __restrict from = static_cast<const T*>(row.input) + r * row.input_row;
    for (std::int64_t c = 0; c < row.input_cols; ++c) joined[c] = larger_of(joined[c], from[c]);
  }
  for (std::int64_t k = 0; k < row.kernel_cols; ++k) {
    const T* __restrict from = columns + k * row.dilation;
    T* __restrict to = output;
    for (std::int64_t c = 0; c < row.output_cols; ++c) {
      to[c] = k == 0 ? from[c * row.stride] : larger_of(to[c], from[c * row.stride]);
    }
  }
}

}  // namespace

PoolNumbers pool_numbers(Number type) {
  switch (type) {
    case Number::kU8: return pool<std::uint8_t>;
    case Number::kI8: return pool<std::int8_t>;
    case Number::kF64: return pool<double>;
    default: return nullptr;
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
