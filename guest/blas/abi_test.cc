// Compares the numbers of cuBLAS's interface with a toolkit's, while compiling.
#include <cublas_v2.h>
#include <gtest/gtest.h>

#include "guest/blas/blas.h"

namespace sluice::guest::blas {
namespace {

template <typename Ours, typename Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}

static_assert(same(Result::kSuccess, CUBLAS_STATUS_SUCCESS));
static_assert(same(Result::kNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED));
static_assert(same(Result::kAllocationFailed, CUBLAS_STATUS_ALLOC_FAILED));
static_assert(same(Result::kInvalidValue, CUBLAS_STATUS_INVALID_VALUE));
static_assert(same(Result::kExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED));
static_assert(same(Result::kInternalError, CUBLAS_STATUS_INTERNAL_ERROR));
static_assert(same(Result::kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED));
static_assert(same(Transpose::kNo, CUBLAS_OP_N));
static_assert(same(Transpose::kYes, CUBLAS_OP_T));
static_assert(same(Transpose::kConjugate, CUBLAS_OP_C));
static_assert(same(Element::kF32, CUDA_R_32F));
static_assert(same(Element::kF16, CUDA_R_16F));
static_assert(same(Element::kBf16, CUDA_R_16BF));
static_assert(same(Compute::kF32, CUBLAS_COMPUTE_32F));
static_assert(same(Compute::kPedanticF32, CUBLAS_COMPUTE_32F_PEDANTIC));
static_assert(same(Compute::kF32ByF16, CUBLAS_COMPUTE_32F_FAST_16F));
static_assert(same(Compute::kF32ByBf16, CUBLAS_COMPUTE_32F_FAST_16BF));
static_assert(same(Compute::kF32ByTf32, CUBLAS_COMPUTE_32F_FAST_TF32));
static_assert(same(PointerMode::kHost, CUBLAS_POINTER_MODE_HOST));
static_assert(same(PointerMode::kDevice, CUBLAS_POINTER_MODE_DEVICE));

TEST(GuestBlasAbi, IsComparedWhileCompiling) { EXPECT_EQ(CUBLAS_VER_MAJOR, kVersion / 10000); }

}  // namespace
}  // namespace sluice::guest::blas
