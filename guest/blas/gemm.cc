// cuBLAS's products: factors lie in host memory, and the addend is the result's own matrix.
#include <cstdint>
#include <string>

#include "guest/blas/blas.h"

namespace sluice::guest::blas {
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
  if (used.pointer_mode != PointerMode::kHost) {
    return static_cast<int>(refuse("factors on the device: CUBLAS_POINTER_MODE_DEVICE"));
  }
  product.alpha = *static_cast<const float*>(scaling.alpha);
  product.beta = *static_cast<const float*>(scaling.beta);
  return static_cast<int>(multiply(used.stream, product));
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
  product.c = product.d = matrix(c, 0, leading_c, stride_c);
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
  if (!sluice::guest::blas::sums_in_f32(compute)) {
    return static_cast<int>(
        sluice::guest::blas::refuse("cublasComputeType_t " + std::to_string(compute)));
  }
  Product product = sluice::guest::blas::sizes_of(turns_a, turns_b, m, n, k, batch);
  product.a = matrix(a, type_a, leading_a, stride_a);
  product.b = matrix(b, type_b, leading_b, stride_b);
  product.c = product.d = matrix(c, type_c, leading_c, stride_c);
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
