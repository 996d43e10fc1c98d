// Compares the numbers of the interfaces of cuBLAS and cuBLASLt with a toolkit's, while compiling.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "guest/blas/blas.h"
#include "guest/blas/lt/lt.h"

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

#define SLUICE_GUEST_HAS(name, number, member) static_assert((name) == number);
#define SLUICE_GUEST_LACKS(name, number) static_assert((name) == number);
SLUICE_GUEST_OPERATION_ATTRIBUTES(SLUICE_GUEST_HAS, SLUICE_GUEST_LACKS)
SLUICE_GUEST_LAYOUT_ATTRIBUTES(SLUICE_GUEST_HAS, SLUICE_GUEST_LACKS)
SLUICE_GUEST_PREFERENCE_ATTRIBUTES(SLUICE_GUEST_HAS, SLUICE_GUEST_LACKS)
#undef SLUICE_GUEST_HAS
#undef SLUICE_GUEST_LACKS

static_assert(same(Order::kColumns, CUBLASLT_ORDER_COL));
static_assert(same(Order::kRows, CUBLASLT_ORDER_ROW));
static_assert(same(Epilogue::kDefault, CUBLASLT_EPILOGUE_DEFAULT));
static_assert(same(Epilogue::kRelu, CUBLASLT_EPILOGUE_RELU));
static_assert(same(Epilogue::kBias, CUBLASLT_EPILOGUE_BIAS));
static_assert(same(Epilogue::kReluBias, CUBLASLT_EPILOGUE_RELU_BIAS));
static_assert(same(Epilogue::kGelu, CUBLASLT_EPILOGUE_GELU));
static_assert(same(Epilogue::kGeluBias, CUBLASLT_EPILOGUE_GELU_BIAS));
static_assert(same(kFullMatrix, CUBLAS_FILL_MODE_FULL));
static_assert(same(kAllReductions, CUBLASLT_REDUCTION_SCHEME_MASK));

static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(Heuristic, algorithm) == offsetof(cublasLtMatmulHeuristicResult_t, algo));
static_assert(offsetof(Heuristic, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(Heuristic, status) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(Heuristic, num_waves) ==
              offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

TEST(GuestBlasAbi, IsComparedWhileCompiling) { EXPECT_EQ(CUBLAS_VER_MAJOR, kVersion / 10000); }

}  // namespace
}  // namespace sluice::guest::blas
