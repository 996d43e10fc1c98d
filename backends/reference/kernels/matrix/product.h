// The matrix product that MatMul, Gemm and Conv share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sluice::reference {

/// Rows of C that one pass over B serves, and how much of B stays in a cache meanwhile.
inline constexpr std::int64_t kRowsAtOnce = 4;
inline constexpr std::int64_t kDepthAtOnce = 256;
inline constexpr std::int64_t kColumnsAtOnce = 256;

/// `num_rows` rows of C += A * B: the innermost loop runs along a row, which compilers vectorise.
template <int num_rows, typename T>
void add_product_rows(std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, const T* b,
                      std::int64_t b_row, T* c, std::int64_t c_row) {
  for (std::int64_t p = 0; p < k; ++p) {
    const T* __restrict__ b_values = b + p * b_row;
    for (int r = 0; r < num_rows; ++r) {
      const T scale = a[r * a_row + p];
      T* __restrict__ c_values = c + r * c_row;
      for (std::int64_t j = 0; j < n; ++j) c_values[j] += scale * b_values[j];
    }
  }
}

/// C [m, n] += A [m, k] * B [k, n], row-major; `x_row` is the distance between rows of X.
/// Integers wrap around.
template <typename T>
void add_product(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row,
                 const T* b, std::int64_t b_row, T* c, std::int64_t c_row) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    return add_product<U>(m, n, k, reinterpret_cast<const U*>(a), a_row,
                          reinterpret_cast<const U*>(b), b_row, reinterpret_cast<U*>(c), c_row);
  }
  for (std::int64_t p = 0; p < k; p += kDepthAtOnce) {
    const std::int64_t depth = std::min(kDepthAtOnce, k - p);
    for (std::int64_t j = 0; j < n; j += kColumnsAtOnce) {
      const std::int64_t columns = std::min(kColumnsAtOnce, n - j);
      std::int64_t i = 0;
      for (; i + kRowsAtOnce <= m; i += kRowsAtOnce) {
        add_product_rows<kRowsAtOnce>(columns, depth, a + i * a_row + p, a_row, b + p * b_row + j,
                                      b_row, c + i * c_row + j, c_row);
      }
      for (; i < m; ++i) {
        add_product_rows<1>(columns, depth, a + i * a_row + p, a_row, b + p * b_row + j, b_row,
                            c + i * c_row + j, c_row);
      }
    }
  }
}

}  // namespace sluice::reference
