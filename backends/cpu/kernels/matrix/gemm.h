#pragma once

#include <cstdint>

#include "core/isa.h"
#include "core/worker.h"
#include "kernels/body/body.h"
#include "kernels/matrix/block_matrix.h"

namespace sluice::cpu {

/// How B lies in memory.
enum class GemmB : std::uint8_t {
  kPacked,      ///< by pack_gemm_b: constant weights
  kPackedBf16,  ///< the same panels of bf16, after pair_gemm_b
  kPackedF16,   ///< the same panels of f16
  kRows,        ///< B(p, j) = b[p * b_row + j]
  kColumns,     ///< B(p, j) = b[j * b_row + p]
  kBlocks,      ///< GemmArgs::blocks
};

inline bool is_half(GemmB form) { return form == GemmB::kPackedBf16 || form == GemmB::kPackedF16; }

/// What the workers of a group divide among themselves.
enum class GemmDivision : std::uint8_t { kByCost, kRows, kColumns };

/// Block sizes of a product. They change the result by rounding only.
struct GemmBlocks {
  /// One block of A (rows x depth) stays in the second-level cache while the panels of B pass by.
  std::int64_t depth = 768;
  std::int64_t rows = 240;
  /// Depth of the pieces in which an unpacked B is packed, or one of 16 bits widened, once for all
  /// rows of a block.
  std::int64_t fly_depth = 256;
  /// Bytes of a block of A in 8 bits, which stays in the second-level cache likewise.
  std::int64_t byte_block = 384 << 10;
  /// kByCost divides columns if B is the larger operand, else rows.
  GemmDivision division = GemmDivision::kByCost;
};

inline constexpr int kGemmBatchRank = 4;

/// Strides of an operand over the batch dimensions, in floats; zero where it is broadcast.
struct GemmBatch {
  std::int64_t stride[kGemmBatchRank] = {};
};

/// C(i, j) = epilogue(scale * (bias(j) + sum over p of A(i, p) * B(p, j))), for every batch item.
/// A(i, p) = a[i * a_row + p * a_step]; C(i, j) = c[i * c_row + j]. All strides in floats.
struct GemmPlan {
  /// The plan of whole matrices: A m x k, B packed, C m x n.
  static GemmPlan of(std::int64_t m, std::int64_t n, std::int64_t k) {
    GemmPlan plan;
    plan.m = m;
    plan.n = n;
    plan.k = k;
    plan.a_row = k;
    plan.c_row = n;
    return plan;
  }

  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t a_row = 0;
  std::int64_t a_step = 1;
  std::int64_t b_row = 0;  ///< of kBlocks: places of a column of B
  std::int64_t c_row = 0;
  GemmB b_form = GemmB::kPacked;
  bool rounds_rows = false;  ///< of kBlocks: rows of A become bytes, block by block
  float scale = 1;           ///< 1 of kBlocks
  GemmBlocks blocks;

  std::int64_t batch_dims[kGemmBatchRank] = {1, 1, 1, 1};
  GemmBatch a_batch;
  GemmBatch b_batch;
  GemmBatch c_batch;

  Body epilogue;  ///< input 0 is C itself; the others are GemmArgs::extra
  BodyOperand extra_strides[kBodyMaxInputs];  ///< `data` unused; [0] unused
  GemmBatch extra_batch[kBodyMaxInputs];

  std::int64_t batch_count() const {
    return batch_dims[0] * batch_dims[1] * batch_dims[2] * batch_dims[3];
  }
};

struct GemmArgs {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  const float* bias = nullptr;  ///< n floats, or null
  const float* extra[kBodyMaxInputs] = {};
  const std::uint16_t* half_b = nullptr;        ///< replaces `b` for panels of 16 bits
  BlockMatrix blocks = {};                      ///< replaces `b` for GemmB::kBlocks
  const BlockKernels* block_kernels = nullptr;  ///< of `blocks`, as GemmPlan::rounds_rows says
};

/// A part of one matrix C.
struct GemmPart {
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::int64_t column = 0;
  std::int64_t columns = 0;
};

SLUICE_CPU_EACH_ISA(
    /// Runs plan.epilogue, if there is one, over a part of `c`, some rows at a time. `extra[i]` is
    /// where operand i has the first element of C; `temps` has plan.epilogue.scratch_bytes().
    /// Requires: part.columns <= kBodyTileFloats.
    void run_epilogue(const GemmPlan& plan, float* c, const float* const* extra,
                      const GemmPart& part, float* temps);)

// The packed form is [panels of columns][k][panel width], the last panel as narrow as whole vectors
// allow and filled with zeros; it depends on the instruction set and not on m.
SLUICE_CPU_EACH_ISA(std::int64_t packed_gemm_b_floats(std::int64_t k, std::int64_t n);)

/// Packs scale * B, with B(p, j) = b[p * step + j * column].
SLUICE_CPU_EACH_ISA(void pack_gemm_b(const float* b, std::int64_t step, std::int64_t column,
                                     std::int64_t k, std::int64_t n, float scale, float* packed);)

/// Brings the vectors of each row of packed bf16 into pairs: lane i of the first, then of the
/// second. An odd last vector stays. In place.
SLUICE_CPU_EACH_ISA(void pair_gemm_b(std::int64_t k, std::int64_t n, std::uint16_t* packed);)

/// Scratch that each worker needs.
SLUICE_CPU_EACH_ISA(std::int64_t gemm_scratch_bytes(const GemmPlan& plan);)

/// Workers divide rows or columns as plan.blocks.division says.
SLUICE_CPU_EACH_ISA(void run_gemm(const GemmPlan& plan, const GemmArgs& args,
                                  const Worker& worker);)

}  // namespace sluice::cpu
