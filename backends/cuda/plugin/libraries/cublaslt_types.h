// cuBLASLt's C interface, as far as products of matrices use it.
//
// Written from NVIDIA's public documentation of cuBLAS. Sizes and numbers are the interface:
// cublaslt_abi_test.cc compares them with cublasLt.h where a toolkit is installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/types.h"

namespace sluice::cuda {

using LtHandle = struct LtHandleObject*;
using LtMatmul = struct LtMatmulObject*;          // what to compute: cublasLtMatmulDesc_t
using LtLayout = struct LtLayoutObject*;          // how a matrix lies in memory
using LtPreference = struct LtPreferenceObject*;  // what an algorithm may use

enum class LtStatus : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocationFailed = 3,
  kInvalidValue = 7,
  kArchitectureMismatch = 8,
  kExecutionFailed = 13,
  kInternalError = 14,
  kNotSupported = 15,
};

/// cudaDataType_t
enum class LtType : int { kF32 = 0, kF16 = 2, kBf16 = 14 };

/// cublasComputeType_t: in which numbers a product multiplies and sums.
enum class LtCompute : int { kF32 = 68, kTf32 = 77 };

enum class LtTranspose : std::int32_t { kNo = 0, kYes = 1 };

enum class LtMatmulAttribute : int {
  kTransposeA = 3,             // int32: LtTranspose
  kTransposeB = 4,             // int32: LtTranspose
  kEpilogue = 7,               // uint32: LtEpilogue
  kBiasPointer = 8,            // const void*: an element per row of the result
  kMultiprocessorTarget = 15,  // int32; 0: all of the device
};

enum class LtEpilogue : std::uint32_t { kNone = 1, kBias = 4 };

/// Matrices lie by columns unless told otherwise.
enum class LtLayoutAttribute : int {
  kBatchCount = 5,           // int32
  kBatchStrideElements = 6,  // int64
};

enum class LtPreferenceAttribute : int {
  kMaxWorkspaceBytes = 1,  // uint64
  kReductionSchemes = 3,   // uint32
  kMinAlignmentA = 5,      // uint32, bytes
  kMinAlignmentB = 6,
  kMinAlignmentC = 7,
  kMinAlignmentD = 8,
};

/// Parts of a sum that were computed apart meet in the numbers of LtCompute, not in the result's.
inline constexpr std::uint32_t kLtReduceInComputeType = 2;

struct LtAlgorithm {
  std::uint64_t data[8];
};

/// cublasLtMatmulHeuristicResult_t
struct LtHeuristic {
  LtAlgorithm algorithm;
  std::size_t workspace_bytes;
  LtStatus status;  // the other members count if it is kSuccess
  float num_waves;
  int reserved[4];
};

// A row is row(member of CublasLt, name, result, (arguments)).
// clang-format off
#define SLUICE_CUBLASLT_ENTRIES(row) \
  row(get_version, cublasLtGetVersion, std::size_t, ()) \
  row(get_status_string, cublasLtGetStatusString, const char*, (LtStatus status)) \
  row(create, cublasLtCreate, LtStatus, (LtHandle* handle)) \
  row(destroy, cublasLtDestroy, LtStatus, (LtHandle handle)) \
  row(matmul_create, cublasLtMatmulDescCreate, LtStatus, \
      (LtMatmul* matmul, LtCompute compute, LtType scale)) \
  row(matmul_destroy, cublasLtMatmulDescDestroy, LtStatus, (LtMatmul matmul)) \
  row(matmul_set, cublasLtMatmulDescSetAttribute, LtStatus, \
      (LtMatmul matmul, LtMatmulAttribute attribute, const void* value, std::size_t bytes)) \
  row(layout_create, cublasLtMatrixLayoutCreate, LtStatus, \
      (LtLayout* layout, LtType type, std::uint64_t rows, std::uint64_t columns, \
       std::int64_t leading_dimension)) \
  row(layout_destroy, cublasLtMatrixLayoutDestroy, LtStatus, (LtLayout layout)) \
  row(layout_set, cublasLtMatrixLayoutSetAttribute, LtStatus, \
      (LtLayout layout, LtLayoutAttribute attribute, const void* value, std::size_t bytes)) \
  row(preference_create, cublasLtMatmulPreferenceCreate, LtStatus, (LtPreference* preference)) \
  row(preference_destroy, cublasLtMatmulPreferenceDestroy, LtStatus, (LtPreference preference)) \
  row(preference_set, cublasLtMatmulPreferenceSetAttribute, LtStatus, \
      (LtPreference preference, LtPreferenceAttribute attribute, const void* value, \
       std::size_t bytes)) \
  row(get_heuristic, cublasLtMatmulAlgoGetHeuristic, LtStatus, \
      (LtHandle handle, LtMatmul matmul, LtLayout a, LtLayout b, LtLayout c, LtLayout d, \
       LtPreference preference, int capacity, LtHeuristic* found, int* num_found)) \
  row(matmul, cublasLtMatmul, LtStatus, \
      (LtHandle handle, LtMatmul matmul, const void* alpha, const void* a, LtLayout a_layout, \
       const void* b, LtLayout b_layout, const void* beta, const void* c, LtLayout c_layout, \
       void* d, LtLayout d_layout, const LtAlgorithm* algorithm, void* workspace, \
       std::size_t workspace_bytes, CuStream stream))
// clang-format on

}  // namespace sluice::cuda
