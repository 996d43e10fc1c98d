#include "ops/packed_matrix.h"

#include <cstdio>

#include "kernels/gemm.h"

namespace sluice::cpu {
namespace {

std::int64_t packed_bytes(const MatrixConstant& matrix, Isa isa) {
  return SLUICE_CPU_PICK(isa, packed_gemm_b_floats)(matrix.k, matrix.n) *
         static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

sluice_packing describe_packing(const MatrixConstant& matrix, Isa isa) {
  sluice_packing packing = {};
  packing.size_bytes = packed_bytes(matrix, isa);
  std::snprintf(packing.format, sizeof packing.format, "panels/%s/%lldx%lld/%g", isa_name(isa),
                static_cast<long long>(matrix.k), static_cast<long long>(matrix.n),
                static_cast<double>(matrix.scale));
  return packing;
}

void pack_matrix(const MatrixConstant& matrix, const float* data, Isa isa, void* packed) {
  SLUICE_CPU_PICK(isa, pack_gemm_b)
  (data, matrix.step, matrix.column, matrix.k, matrix.n, matrix.scale, static_cast<float*>(packed));
}

PackedMatrix::PackedMatrix(const sluice_operand& operand, const MatrixConstant& matrix, Isa isa)
    : data_(static_cast<const float*>(operand.packed)) {
  if (data_ != nullptr && operand.packed_bytes == packed_bytes(matrix, isa)) return;
  own_ = FloatBuffer(packed_bytes(matrix, isa) / static_cast<std::int64_t>(sizeof(float)));
  pack_matrix(matrix, static_cast<const float*>(operand.tensor.data), isa, own_.data());
  data_ = own_.data();
}

}  // namespace sluice::cpu
