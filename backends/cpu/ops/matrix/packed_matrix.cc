#include "ops/matrix/packed_matrix.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "kernels/matrix/gemm.h"
#include "ops/matrix/byte_panels.h"

namespace sluice::cpu {
namespace {

std::int64_t packed_count(const MatrixConstant& matrix, Isa isa) {
  if (matrix.cut.levels > 0) {
    return SLUICE_CPU_PICK(isa, packed_strassen_b_floats)(matrix.cut, matrix.k, matrix.n);
  }
  return SLUICE_CPU_PICK(isa, packed_gemm_b_floats)(matrix.k, matrix.n);
}

BytePanels byte_panels(const MatrixConstant& matrix, Isa isa) {
  return {matrix.k, matrix.n, byte_tiles(isa).width};
}

/// To the nearest, ties to even; a NaN stays one.
std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

void pack_floats(const MatrixConstant& matrix, const float* data, Isa isa, float* packed) {
  if (matrix.cut.levels > 0) {
    SLUICE_CPU_PICK(isa, pack_strassen_b)
    (matrix.cut, data, matrix.step, matrix.column, matrix.k, matrix.n, matrix.scale, packed);
    return;
  }
  SLUICE_CPU_PICK(isa, pack_gemm_b)
  (data, matrix.step, matrix.column, matrix.k, matrix.n, matrix.scale, packed);
}

}  // namespace

std::int64_t packed_bytes(const MatrixConstant& matrix, Isa isa) {
  if (matrix.type == WeightType::kInt8) return byte_panels(matrix, isa).bytes();
  const std::int64_t size = matrix.type == WeightType::kBf16 ? 2 : 4;
  return packed_count(matrix, isa) * size;
}

sluice_packing describe_packing(const MatrixConstant& matrix, Isa isa) {
  sluice_packing packing = {};
  packing.size_bytes = packed_bytes(matrix, isa);
  char form[40] = "panels";
  if (matrix.type == WeightType::kInt8) {
    std::snprintf(form, sizeof form, "panels_int8");
  } else if (matrix.type == WeightType::kBf16) {
    std::snprintf(form, sizeof form, "panels_bf16");
  } else if (matrix.cut.levels > 0) {
    std::snprintf(form, sizeof form, "strassen%d_pairs_%lld", matrix.cut.levels,
                  static_cast<long long>(matrix.cut.stretches));
  }
  std::snprintf(packing.format, sizeof packing.format, "%s/%s/%lldx%lld/%g", form, isa_name(isa),
                static_cast<long long>(matrix.k), static_cast<long long>(matrix.n),
                static_cast<double>(matrix.scale));
  return packing;
}

void pack_matrix(const MatrixConstant& matrix, const float* data, Isa isa, void* packed) {
  if (matrix.type == WeightType::kF32) {
    pack_floats(matrix, data, isa, static_cast<float*>(packed));
    return;
  }
  if (matrix.type == WeightType::kInt8) {
    pack_byte_panels(byte_panels(matrix, isa), data, matrix.step, matrix.column, matrix.scale,
                     packed);
    return;
  }
  const std::int64_t count = packed_count(matrix, isa);
  const FloatBuffer floats(count);
  pack_floats(matrix, data, isa, floats.data());
  auto* rounded = static_cast<std::uint16_t*>(packed);
  for (std::int64_t i = 0; i < count; ++i) rounded[i] = to_bf16(floats.data()[i]);
}

PackedMatrix::PackedMatrix(const sluice_operand& operand, const MatrixConstant& matrix, Isa isa)
    : data_(operand.packed) {
  if (data_ != nullptr && operand.packed_bytes == packed_bytes(matrix, isa)) return;
  own_ = FloatBuffer((packed_bytes(matrix, isa) + 3) / 4);
  pack_matrix(matrix, static_cast<const float*>(operand.tensor.data), isa, own_.data());
  data_ = own_.data();
}

}  // namespace sluice::cpu
