// The part of cuBLASLt's C interface that this library offers: products that descriptions ask for.
//
// Written from NVIDIA's public documentation of cuBLAS 13; abi_test.cc compares the numbers with
// the vendor's header where a toolkit is installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "guest/blas/blas.h"

namespace sluice::guest::blas {

enum class Order : std::int32_t { kColumns = 0, kRows = 1 };

/// Bits of cublasLtEpilogue_t. A product without any of them has kDefault.
enum class Epilogue : std::uint32_t {
  kDefault = 1,
  kRelu = 2,
  kBias = 4,
  kReluBias = 6,
  kGelu = 32,
  kGeluBias = 36
};

inline constexpr std::int32_t kFullMatrix = 2;      // cublasFillMode_t
inline constexpr std::int32_t kResultsType = -1;    // the type of a bias that a program has not set
inline constexpr std::uint32_t kAllReductions = 7;  // cublasLtReductionScheme_t

/// cublasLtMatmulDesc_t: values as a program gave them.
struct Operation {
  std::int32_t compute = 0, scale = 0, pointer_mode = 0;
  std::int32_t turns_a = 0, turns_b = 0, turns_c = 0;
  std::int32_t fill = kFullMatrix;
  std::uint32_t epilogue = static_cast<std::uint32_t>(Epilogue::kDefault);
  const void* bias = nullptr;
  std::int64_t bias_stride = 0;
  std::int32_t multiprocessors = 0;
  std::int8_t fast_sums = 0;
  std::int32_t bias_type = kResultsType;
};

/// cublasLtMatrixLayout_t.
struct Layout {
  std::uint32_t type = 0;
  std::int32_t order = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  std::int32_t batch = 1;
  std::int64_t stride = 0, plane = 0;
  std::uint32_t batch_mode = 0;
};

/// cublasLtMatmulPreference_t. Nothing reads it: there is one algorithm, and it needs no memory.
struct Preference {
  std::uint32_t search_mode = 0;
  std::uint64_t workspace_bytes = 0;
  std::uint32_t reductions = kAllReductions;
  std::uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
  float waves = 0;
  std::uint64_t kinds = ~std::uint64_t{0};
};

// Attributes of the three: has(name in the vendor's interface, number, member) or lacks(name,
// number).
// clang-format off
#define SLUICE_GUEST_OPERATION_ATTRIBUTES(has, lacks) \
  has(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 0, compute) \
  has(CUBLASLT_MATMUL_DESC_SCALE_TYPE, 1, scale) \
  has(CUBLASLT_MATMUL_DESC_POINTER_MODE, 2, pointer_mode) \
  has(CUBLASLT_MATMUL_DESC_TRANSA, 3, turns_a) \
  has(CUBLASLT_MATMUL_DESC_TRANSB, 4, turns_b) \
  has(CUBLASLT_MATMUL_DESC_TRANSC, 5, turns_c) \
  has(CUBLASLT_MATMUL_DESC_FILL_MODE, 6, fill) \
  has(CUBLASLT_MATMUL_DESC_EPILOGUE, 7, epilogue) \
  has(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8, bias) \
  has(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 10, bias_stride) \
  lacks(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 11) \
  lacks(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 12) \
  lacks(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, 13) \
  lacks(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, 14) \
  has(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 15, multiprocessors) \
  lacks(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 17) \
  lacks(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, 18) \
  lacks(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, 19) \
  lacks(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, 20) \
  lacks(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, 21) \
  lacks(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, 22) \
  lacks(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, 23) \
  lacks(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, 24) \
  has(CUBLASLT_MATMUL_DESC_FAST_ACCUM, 25, fast_sums) \
  has(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 26, bias_type) \
  lacks(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, 31) \
  lacks(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, 32) \
  lacks(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, 33) \
  lacks(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, 34) \
  lacks(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, 35) \
  lacks(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, 36) \
  lacks(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, 37)
#define SLUICE_GUEST_LAYOUT_ATTRIBUTES(has, lacks) \
  has(CUBLASLT_MATRIX_LAYOUT_TYPE, 0, type) \
  has(CUBLASLT_MATRIX_LAYOUT_ORDER, 1, order) \
  has(CUBLASLT_MATRIX_LAYOUT_ROWS, 2, rows) \
  has(CUBLASLT_MATRIX_LAYOUT_COLS, 3, columns) \
  has(CUBLASLT_MATRIX_LAYOUT_LD, 4, leading) \
  has(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5, batch) \
  has(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6, stride) \
  has(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, 7, plane) \
  has(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, 8, batch_mode)
#define SLUICE_GUEST_PREFERENCE_ATTRIBUTES(has, lacks) \
  has(CUBLASLT_MATMUL_PREF_SEARCH_MODE, 0, search_mode) \
  has(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1, workspace_bytes) \
  has(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3, reductions) \
  has(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5, alignment_a) \
  has(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6, alignment_b) \
  has(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7, alignment_c) \
  has(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8, alignment_d) \
  has(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, 9, waves) \
  has(CUBLASLT_MATMUL_PREF_IMPL_MASK, 12, kinds)
// clang-format on

/// cublasLtMatmulAlgo_t
struct Algorithm {
  std::uint64_t data[8];
};

/// cublasLtMatmulHeuristicResult_t
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  int status;
  float num_waves;
  int reserved[4];
};

}  // namespace sluice::guest::blas
