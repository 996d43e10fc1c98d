// Products of matrices by kernels of this library, which the program launches as if they were its
// own.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <mutex>
#include <utility>

#include "guest/blas/blas.h"
#include "guest/blas/product_code.h"
#include "guest/runtime/abi.h"

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the vendor's names
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFunction(void** binary, const char* host, char* device, const char* name,
                            int thread_limit, void* tid, void* bid, void* block, void* grid,
                            int* warp);
// NOLINTEND(bugprone-reserved-identifier)
int cudaLaunchKernel(const void* host, sluice::guest::Dim3 grid, sluice::guest::Dim3 block,
                     void** arguments, std::size_t shared_bytes, void* stream);
int cudaGetLastError();
}

namespace sluice::guest::blas {
namespace {

constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();
/// Blocks of a grid along y and z, on every device.
constexpr std::int64_t kMaxBlocks = 65535;

std::int64_t bytes_of(Element element) { return element == Element::kF32 ? 4 : 2; }

/// Registers the kernels; each goes by the address of its name.
void register_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    static FatbinWrapper wrapper = {kWrapperMagic, 1, product_fatbin().data(), nullptr};
    void** const binary = __cudaRegisterFatBinary(&wrapper);
    for (const Element factors : {Element::kF32, Element::kF16, Element::kBf16}) {
      for (const Element result : {Element::kF32, Element::kF16, Element::kBf16}) {
        const char* const name = kernel_name(factors, result);
        if (name == nullptr) continue;
        __cudaRegisterFunction(binary, name, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr,
                               nullptr);
      }
    }
  });
}

bool fits(const Matrix& matrix, bool is_turned, std::int64_t rows, std::int64_t columns) {
  const std::int64_t lowest = is_turned ? columns : rows;
  return matrix.leading >= std::max<std::int64_t>(1, lowest) && matrix.leading <= kMaxSize;
}

Result check(const Product& product) {
  for (const std::int64_t size : {product.m, product.n, product.k, product.batch}) {
    if (size < 0 || size > kMaxSize) return Result::kInvalidValue;
  }
  for (const Transpose turns : {product.turns_a, product.turns_b}) {
    if (turns < Transpose::kNo || turns > Transpose::kConjugate) return Result::kInvalidValue;
  }
  const bool fit = fits(product.a, product.turns_a != Transpose::kNo, product.m, product.k) &&
                   fits(product.b, product.turns_b != Transpose::kNo, product.k, product.n) &&
                   fits(product.c, false, product.m, product.n);
  if (!fit) return Result::kInvalidValue;
  const bool has_kernel = product.a.element == product.b.element &&
                          kernel_name(product.a.element, product.c.element) != nullptr;
  return has_kernel ? Result::kSuccess : Result::kNotSupported;
}

ProductArguments arguments_of(const Product& product) {
  const std::int64_t factor_bytes = bytes_of(product.a.element);
  const std::int64_t result_bytes = bytes_of(product.c.element);
  ProductArguments to;
  to.a = product.a.data;
  to.b = product.b.data;
  to.c = const_cast<void*>(product.c.data);
  to.a_row = factor_bytes;
  to.a_column = factor_bytes * product.a.leading;
  if (product.turns_a != Transpose::kNo) std::swap(to.a_row, to.a_column);
  to.b_row = factor_bytes;
  to.b_column = factor_bytes * product.b.leading;
  if (product.turns_b != Transpose::kNo) std::swap(to.b_row, to.b_column);
  to.c_column = result_bytes * product.c.leading;
  to.a_stride = factor_bytes * product.a.stride;
  to.b_stride = factor_bytes * product.b.stride;
  to.c_stride = result_bytes * product.c.stride;
  to.m = static_cast<std::uint32_t>(product.m);
  to.n = static_cast<std::uint32_t>(product.n);
  to.k = static_cast<std::uint32_t>(product.k);
  to.alpha = product.alpha;
  to.beta = product.beta;
  return to;
}

unsigned blocks_for(std::int64_t size) {
  return static_cast<unsigned>((size + kBlockEdge - 1) / kBlockEdge);
}

/// A part of a product that fits in one grid.
Result launch(const Handle& handle, const char* kernel, ProductArguments& of, std::int64_t batch) {
  std::array<void*, 16> places = {&of.a,        &of.b,        &of.c,        &of.a_row,
                                  &of.a_column, &of.b_row,    &of.b_column, &of.c_column,
                                  &of.a_stride, &of.b_stride, &of.c_stride, &of.m,
                                  &of.n,        &of.k,        &of.alpha,    &of.beta};
  const int error =
      cudaLaunchKernel(kernel, {blocks_for(of.m), blocks_for(of.n), static_cast<unsigned>(batch)},
                       {kBlockEdge, kBlockEdge, 1}, places.data(), 0, handle.stream);
  if (error == 0) return Result::kSuccess;
  cudaGetLastError();  // the status of the product says it
  return Result::kExecutionFailed;
}

template <typename T>
void advance(T*& address, std::int64_t bytes) {
  address = reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(address) +
                                 static_cast<std::uintptr_t>(bytes));
}

}  // namespace

Result multiply(const Handle& handle, const Product& product) {
  const Result checked = check(product);
  if (checked != Result::kSuccess) return checked;
  if (product.m == 0 || product.n == 0 || product.batch == 0) return Result::kSuccess;
  register_kernels();
  const char* const kernel = kernel_name(product.a.element, product.c.element);
  constexpr std::int64_t kMaxColumns = kMaxBlocks * kBlockEdge;
  ProductArguments of = arguments_of(product);
  for (std::int64_t item = 0; item < product.batch; item += kMaxBlocks) {
    ProductArguments part = of;
    for (std::int64_t column = 0; column < product.n; column += kMaxColumns) {
      part.n = static_cast<std::uint32_t>(std::min(kMaxColumns, product.n - column));
      const Result result =
          launch(handle, kernel, part, std::min(kMaxBlocks, product.batch - item));
      if (result != Result::kSuccess) return result;
      advance(part.b, part.b_column * kMaxColumns);
      advance(part.c, part.c_column * kMaxColumns);
    }
    advance(of.a, of.a_stride * kMaxBlocks);
    advance(of.b, of.b_stride * kMaxBlocks);
    advance(of.c, of.c_stride * kMaxBlocks);
  }
  return Result::kSuccess;
}

namespace {

/// Factors of the sum and the addend, which lie in host memory.
struct Scaling {
  const void* alpha;
  const void* beta;
};

int multiply_scaled(void* handle, Product product, Scaling scaling) {
  if (handle == nullptr) return static_cast<int>(Result::kNotInitialized);
  const Handle& used = *static_cast<const Handle*>(handle);
  if (scaling.alpha == nullptr || scaling.beta == nullptr) {
    return static_cast<int>(Result::kInvalidValue);
  }
  if (used.pointer_mode != PointerMode::kHost) return static_cast<int>(Result::kNotSupported);
  product.alpha = *static_cast<const float*>(scaling.alpha);
  product.beta = *static_cast<const float*>(scaling.beta);
  return static_cast<int>(multiply(used, product));
}

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

Product sizes_of(int turns_a, int turns_b, std::int64_t m, std::int64_t n, std::int64_t k,
                 std::int64_t batch = 1) {
  Product product;
  product.turns_a = static_cast<Transpose>(turns_a);
  product.turns_b = static_cast<Transpose>(turns_b);
  product.m = m;
  product.n = n;
  product.k = k;
  product.batch = batch;
  return product;
}

Matrix matrix(const void* data, int element, std::int64_t leading, std::int64_t stride = 0) {
  return {data, static_cast<Element>(element), leading, stride};
}

}  // namespace
}  // namespace sluice::guest::blas

using sluice::guest::blas::matrix;
using sluice::guest::blas::Product;
using sluice::guest::blas::Result;

SLUICE_GUEST_BLAS_EXPORT int cublasSgemmStridedBatched(
    void* handle, int turns_a, int turns_b, int m, int n, int k, const float* alpha, const float* a,
    int leading_a, long long stride_a, const float* b, int leading_b, long long stride_b,
    const float* beta, float* c, int leading_c, long long stride_c, int batch) {
  Product product = sluice::guest::blas::sizes_of(turns_a, turns_b, m, n, k, batch);
  product.a = matrix(a, 0, leading_a, stride_a);
  product.b = matrix(b, 0, leading_b, stride_b);
  product.c = matrix(c, 0, leading_c, stride_c);
  return sluice::guest::blas::multiply_scaled(handle, product, {alpha, beta});
}
SLUICE_GUEST_BLAS_EXPORT int cublasSgemm_v2(void* handle, int turns_a, int turns_b, int m, int n,
                                            int k, const float* alpha, const float* a,
                                            int leading_a, const float* b, int leading_b,
                                            const float* beta, float* c, int leading_c) {
  return cublasSgemmStridedBatched(handle, turns_a, turns_b, m, n, k, alpha, a, leading_a, 0, b,
                                   leading_b, 0, beta, c, leading_c, 0, 1);
}
SLUICE_GUEST_BLAS_EXPORT int cublasGemmStridedBatchedEx(
    void* handle, int turns_a, int turns_b, int m, int n, int k, const void* alpha, const void* a,
    int type_a, int leading_a, long long stride_a, const void* b, int type_b, int leading_b,
    long long stride_b, const void* beta, void* c, int type_c, int leading_c, long long stride_c,
    int batch, int compute, int /*algorithm*/) {
  if (!sluice::guest::blas::sums_in_f32(compute)) return static_cast<int>(Result::kNotSupported);
  Product product = sluice::guest::blas::sizes_of(turns_a, turns_b, m, n, k, batch);
  product.a = matrix(a, type_a, leading_a, stride_a);
  product.b = matrix(b, type_b, leading_b, stride_b);
  product.c = matrix(c, type_c, leading_c, stride_c);
  return sluice::guest::blas::multiply_scaled(handle, product, {alpha, beta});
}
SLUICE_GUEST_BLAS_EXPORT int cublasGemmEx(void* handle, int turns_a, int turns_b, int m, int n,
                                          int k, const void* alpha, const void* a, int type_a,
                                          int leading_a, const void* b, int type_b, int leading_b,
                                          const void* beta, void* c, int type_c, int leading_c,
                                          int compute, int algorithm) {
  return cublasGemmStridedBatchedEx(handle, turns_a, turns_b, m, n, k, alpha, a, type_a, leading_a,
                                    0, b, type_b, leading_b, 0, beta, c, type_c, leading_c, 0, 1,
                                    compute, algorithm);
}
