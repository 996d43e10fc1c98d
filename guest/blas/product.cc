// Products of matrices by kernels of this library.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "guest/blas/blas.h"
#include "guest/blas/own_kernels.h"
#include "guest/blas/product_code.h"

namespace sluice::guest::blas {
namespace {

constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();
/// Elements from a matrix to the next: more than a device has, and a product of bytes fits 63 bits.
constexpr std::int64_t kMaxStride = std::int64_t{1} << 44;
/// Blocks of a grid along y and z, on every device.
constexpr std::int64_t kMaxBlocks = 65535;

std::int64_t bytes_of(Element element) { return element == Element::kF32 ? 4 : 2; }

void register_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::vector<const char*> names;
    for (const Element factors : {Element::kF32, Element::kF16, Element::kBf16}) {
      for (const Element result : {Element::kF32, Element::kF16, Element::kBf16}) {
        const char* const name = kernel_name(factors, result);
        if (name != nullptr) names.push_back(name);
      }
    }
    register_own(product_fatbin(), names);
  });
}

/// `rows` and `columns` of the matrix as it lies in memory.
bool fits(const Matrix& matrix, std::int64_t rows, std::int64_t columns) {
  const std::int64_t lowest = matrix.is_by_rows ? columns : rows;
  return matrix.leading >= std::max<std::int64_t>(1, lowest) && matrix.leading <= kMaxSize &&
         matrix.stride >= -kMaxStride && matrix.stride <= kMaxStride;
}

bool fits_turned(const Matrix& matrix, Transpose turns, std::int64_t rows, std::int64_t columns) {
  return turns == Transpose::kNo ? fits(matrix, rows, columns) : fits(matrix, columns, rows);
}

/// Bytes from an element to the next of its row and of its column.
struct Steps {
  std::int64_t row, column;
};

Steps steps_of(const Matrix& matrix, Transpose turns = Transpose::kNo) {
  const std::int64_t bytes = bytes_of(matrix.element);
  Steps steps = {bytes, bytes * matrix.leading};
  if (matrix.is_by_rows != (turns != Transpose::kNo)) std::swap(steps.row, steps.column);
  return steps;
}

ProductArguments arguments_of(const Product& product) {
  const Steps a = steps_of(product.a, product.turns_a);
  const Steps b = steps_of(product.b, product.turns_b);
  const Steps c = steps_of(product.c);
  const Steps d = steps_of(product.d);
  const auto stride = [](const Matrix& of) { return bytes_of(of.element) * of.stride; };
  ProductArguments to;
  to.a = product.a.data;
  to.b = product.b.data;
  to.c = product.c.data;
  to.d = const_cast<void*>(product.d.data);
  to.bias = product.bias;
  to.a_row = a.row;
  to.a_column = a.column;
  to.b_row = b.row;
  to.b_column = b.column;
  to.c_row = c.row;
  to.c_column = c.column;
  to.d_row = d.row;
  to.d_column = d.column;
  to.a_stride = stride(product.a);
  to.b_stride = stride(product.b);
  to.c_stride = stride(product.c);
  to.d_stride = stride(product.d);
  to.m = static_cast<std::uint32_t>(product.m);
  to.n = static_cast<std::uint32_t>(product.n);
  to.k = static_cast<std::uint32_t>(product.k);
  to.alpha = product.alpha;
  to.beta = product.beta;
  to.activation = static_cast<std::uint32_t>(product.activation);
  return to;
}

unsigned blocks_for(std::int64_t size) {
  return static_cast<unsigned>((size + kBlockEdge - 1) / kBlockEdge);
}

/// A part of a product that fits in one grid.
Result launch(void* stream, const char* kernel, ProductArguments& of, std::int64_t batch) {
  std::array<void*, 23> places = {
      &of.a,        &of.b,        &of.c,        &of.d,        &of.bias,      &of.a_row,
      &of.a_column, &of.b_row,    &of.b_column, &of.c_row,    &of.c_column,  &of.d_row,
      &of.d_column, &of.a_stride, &of.b_stride, &of.c_stride, &of.d_stride,  &of.m,
      &of.n,        &of.k,        &of.alpha,    &of.beta,     &of.activation};
  const Dim3 grid = {blocks_for(of.m), blocks_for(of.n), static_cast<unsigned>(batch)};
  const bool is_launched = launch_own(kernel, grid, {kBlockEdge, kBlockEdge, 1}, places, stream);
  return is_launched ? Result::kSuccess : Result::kExecutionFailed;
}

template <typename T>
void advance(T*& address, std::int64_t bytes) {
  address = reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(address) +
                                 static_cast<std::uintptr_t>(bytes));
}

}  // namespace

bool sums_in_f32(int compute) {
  switch (static_cast<Compute>(compute)) {
    case Compute::kF32:
    case Compute::kPedanticF32:
    case Compute::kF32ByF16:
    case Compute::kF32ByBf16:
    case Compute::kF32ByTf32: return true;
  }
  return false;
}

Result check(const Product& product) {
  for (const std::int64_t size : {product.m, product.n, product.k, product.batch}) {
    if (size < 0 || size > kMaxSize) return Result::kInvalidValue;
  }
  for (const Transpose turns : {product.turns_a, product.turns_b}) {
    if (turns < Transpose::kNo || turns > Transpose::kConjugate) return Result::kInvalidValue;
  }
  const bool fit = fits_turned(product.a, product.turns_a, product.m, product.k) &&
                   fits_turned(product.b, product.turns_b, product.k, product.n) &&
                   fits(product.c, product.m, product.n) && fits(product.d, product.m, product.n);
  if (!fit) return Result::kInvalidValue;
  const bool has_kernel = product.a.element == product.b.element &&
                          product.c.element == product.d.element &&
                          kernel_name(product.a.element, product.d.element) != nullptr;
  if (has_kernel) return Result::kSuccess;
  std::string types;
  for (const Matrix* each : {&product.a, &product.b, &product.c, &product.d}) {
    types += " " + std::to_string(static_cast<int>(each->element));
  }
  return refuse("a product of A, B, C and D of cudaDataType_t" + types);
}

Result multiply(void* stream, const Product& product) {
  const Result checked = check(product);
  if (checked != Result::kSuccess) return checked;
  if (product.m == 0 || product.n == 0 || product.batch == 0) return Result::kSuccess;
  register_kernels();
  const char* const kernel = kernel_name(product.a.element, product.d.element);
  constexpr std::int64_t kMaxColumns = kMaxBlocks * kBlockEdge;
  ProductArguments of = arguments_of(product);
  for (std::int64_t item = 0; item < product.batch; item += kMaxBlocks) {
    ProductArguments part = of;
    for (std::int64_t column = 0; column < product.n; column += kMaxColumns) {
      part.n = static_cast<std::uint32_t>(std::min(kMaxColumns, product.n - column));
      const Result result =
          launch(stream, kernel, part, std::min(kMaxBlocks, product.batch - item));
      if (result != Result::kSuccess) return result;
      advance(part.b, part.b_column * kMaxColumns);
      advance(part.c, part.c_column * kMaxColumns);
      advance(part.d, part.d_column * kMaxColumns);
    }
    advance(of.a, of.a_stride * kMaxBlocks);
    advance(of.b, of.b_stride * kMaxBlocks);
    advance(of.c, of.c_stride * kMaxBlocks);
    advance(of.d, of.d_stride * kMaxBlocks);
  }
  return Result::kSuccess;
}

}  // namespace sluice::guest::blas
