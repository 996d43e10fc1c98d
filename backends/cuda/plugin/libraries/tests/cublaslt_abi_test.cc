// Compares the project's declarations of cuBLASLt's interface with those of a toolkit, most of it
// while compiling, and with what the installed library accepts.
#include <cublasLt.h>
#include <gtest/gtest.h>

#include "driver/testing/alike.h"
#include "plugin/libraries/cublaslt.h"

namespace sluice::cuda {
namespace {

#define SLUICE_CUDA_ROW(member, name, result, arguments) \
  static_assert(are_alike<decltype(CublasLt::member), decltype(&(name))>());
SLUICE_CUBLASLT_ENTRIES(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW

static_assert(same_number(LtStatus::kNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED));
static_assert(same_number(LtStatus::kAllocationFailed, CUBLAS_STATUS_ALLOC_FAILED));
static_assert(same_number(LtStatus::kInvalidValue, CUBLAS_STATUS_INVALID_VALUE));
static_assert(same_number(LtStatus::kArchitectureMismatch, CUBLAS_STATUS_ARCH_MISMATCH));
static_assert(same_number(LtStatus::kExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED));
static_assert(same_number(LtStatus::kInternalError, CUBLAS_STATUS_INTERNAL_ERROR));
static_assert(same_number(LtStatus::kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED));
static_assert(same_number(LtType::kF32, CUDA_R_32F));
static_assert(same_number(LtType::kF16, CUDA_R_16F));
static_assert(same_number(LtType::kBf16, CUDA_R_16BF));
static_assert(same_number(LtCompute::kF32, CUBLAS_COMPUTE_32F));
static_assert(same_number(LtCompute::kTf32, CUBLAS_COMPUTE_32F_FAST_TF32));
static_assert(same_number(LtTranspose::kNo, CUBLAS_OP_N));
static_assert(same_number(LtTranspose::kYes, CUBLAS_OP_T));
static_assert(same_number(LtMatmulAttribute::kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA));
static_assert(same_number(LtMatmulAttribute::kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB));
static_assert(same_number(LtMatmulAttribute::kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE));
static_assert(same_number(LtMatmulAttribute::kBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER));
static_assert(same_number(LtMatmulAttribute::kMultiprocessorTarget,
                          CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET));
static_assert(same_number(LtEpilogue::kNone, CUBLASLT_EPILOGUE_DEFAULT));
static_assert(same_number(LtEpilogue::kBias, CUBLASLT_EPILOGUE_BIAS));
static_assert(same_number(LtLayoutAttribute::kBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
static_assert(same_number(LtLayoutAttribute::kBatchStrideElements,
                          CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
static_assert(same_number(LtPreferenceAttribute::kMaxWorkspaceBytes,
                          CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
static_assert(same_number(LtPreferenceAttribute::kReductionSchemes,
                          CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK));
static_assert(same_number(LtPreferenceAttribute::kMinAlignmentA,
                          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES));
static_assert(same_number(LtPreferenceAttribute::kMinAlignmentB,
                          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES));
static_assert(same_number(LtPreferenceAttribute::kMinAlignmentC,
                          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES));
static_assert(same_number(LtPreferenceAttribute::kMinAlignmentD,
                          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));
static_assert(same_number(kLtReduceInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));

static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(LtHeuristic, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(LtHeuristic, status) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(LtHeuristic, num_waves) ==
              offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

/// Attributes of descriptors need no device.
TEST(CublasLtToolkit, InstalledLibraryTakesEveryAttributeInItsSize) {
  CublasLt lt;
  if (Status status = open_cublaslt("", &lt); !status.is_ok()) GTEST_SKIP() << status.text;
  LtMatmul matmul = nullptr;
  ASSERT_EQ(lt.matmul_create(&matmul, LtCompute::kF32, LtType::kF32), LtStatus::kSuccess);
  const auto set = [&](LtMatmulAttribute attribute, const auto& value) {
    EXPECT_EQ(lt.matmul_set(matmul, attribute, &value, sizeof(value)), LtStatus::kSuccess);
    EXPECT_EQ(lt.matmul_set(matmul, attribute, &value, sizeof(value) + 4), LtStatus::kInvalidValue);
  };
  set(LtMatmulAttribute::kTransposeA, LtTranspose::kYes);
  set(LtMatmulAttribute::kTransposeB, LtTranspose::kYes);
  set(LtMatmulAttribute::kEpilogue, LtEpilogue::kBias);
  set(LtMatmulAttribute::kBiasPointer, static_cast<const void*>(&lt));
  set(LtMatmulAttribute::kMultiprocessorTarget, std::int32_t{16});
  EXPECT_EQ(lt.matmul_destroy(matmul), LtStatus::kSuccess);

  LtLayout layout = nullptr;
  ASSERT_EQ(lt.layout_create(&layout, LtType::kBf16, 3, 4, 5), LtStatus::kSuccess);
  const std::int32_t count = 2;
  const std::int64_t stride = 20;
  using enum LtLayoutAttribute;
  EXPECT_EQ(lt.layout_set(layout, kBatchCount, &count, sizeof(count)), LtStatus::kSuccess);
  EXPECT_EQ(lt.layout_set(layout, kBatchStrideElements, &stride, 8), LtStatus::kSuccess);
  EXPECT_EQ(lt.layout_set(layout, kBatchStrideElements, &stride, 4), LtStatus::kInvalidValue);
  EXPECT_EQ(lt.layout_destroy(layout), LtStatus::kSuccess);

  LtPreference preference = nullptr;
  ASSERT_EQ(lt.preference_create(&preference), LtStatus::kSuccess);
  const std::uint64_t bytes = 1 << 20;
  using enum LtPreferenceAttribute;
  EXPECT_EQ(lt.preference_set(preference, kMaxWorkspaceBytes, &bytes, 8), LtStatus::kSuccess);
  const std::uint32_t word = 2;
  for (const auto attribute :
       {kReductionSchemes, kMinAlignmentA, kMinAlignmentB, kMinAlignmentC, kMinAlignmentD}) {
    EXPECT_EQ(lt.preference_set(preference, attribute, &word, 4), LtStatus::kSuccess);
  }
  EXPECT_EQ(lt.preference_destroy(preference), LtStatus::kSuccess);
}

}  // namespace
}  // namespace sluice::cuda
