// The kernels of products, as PTX.
#pragma once

#include <cstdint>
#include <string>

#include "guest/blas/blas.h"

namespace sluice::guest::blas {

/// Threads of a block along the rows, and along the columns, of the result.
inline constexpr unsigned kBlockEdge = 16;

/// Parameters of each kernel, in their order and places. Steps and strides are of bytes.
struct ProductArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  const void* bias = nullptr;
  std::int64_t a_row = 0, a_column = 0;  ///< step to the next row, and column, of op(a)
  std::int64_t b_row = 0, b_column = 0;  ///< of op(b)
  std::int64_t c_row = 0, c_column = 0;
  std::int64_t d_row = 0, d_column = 0;
  std::int64_t a_stride = 0, b_stride = 0, c_stride = 0, d_stride = 0;
  std::uint32_t m = 0, n = 0, k = 0;
  float alpha = 0, beta = 0;
  std::uint32_t activation = 0;
};

/// "product_f16_f32": of the factors and the result. Null if there is no such kernel.
const char* kernel_name(Element factors, Element result);

/// A fat binary with all of them, for every GPU since compute capability 7.5. Lives until the
/// process ends.
const std::string& product_fatbin();

}  // namespace sluice::guest::blas
