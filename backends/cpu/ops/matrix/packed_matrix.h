#pragma once

#include <cstdint>

#include "core/float_buffer.h"
#include "core/isa.h"
#include "kernels/convert/convert.h"
#include "kernels/strassen/strassen.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Forms in which weights are kept: as f32, in 16 bits of either kind, or in 8 bits with a scale
/// per column.
enum class WeightType : std::uint8_t { kF32, kBf16, kF16, kInt8 };

/// A constant matrix B(p, j), p < k, j < n, on its way into the panels of
/// kernels/matrix/gemm.h, kernels/strassen/strassen.h or kernels/bytes/byte_product.h.
struct MatrixConstant {
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t step = 0;    ///< numbers from p to p + 1
  std::int64_t column = 0;  ///< numbers from j to j + 1; this or `step` is 1
  float scale = 1;
  WeightType type = WeightType::kF32;
  StrassenCut cut;                 ///< of f32 kept as f32; no levels: the ordinary product
  Storage source = Storage::kF32;  ///< of the constant's numbers: kF32, kF16, kBf16 or kI8
  const float* column_scales =
      nullptr;             ///< of a source of i8, whose bytes go into panels unchanged
  std::int64_t count = 1;  ///< matrices of a stack; each has panels of its own
};

/// Whether input `b` of a product has its value, or its packed form, when the kernel is made.
bool is_packable(const sluice_operand& b, std::int32_t rank = 2);

/// Bytes of all `count` matrices together.
std::int64_t packed_bytes(const MatrixConstant& matrix, Isa isa);
sluice_packing describe_packing(const MatrixConstant& matrix, Isa isa);
void pack_matrix(const MatrixConstant& matrix, const void* data, Isa isa, void* packed);

/// The packed form of a constant operand: what the package holds, or made here and kept.
class PackedMatrix {
 public:
  /// Requires: `operand` is constant with its value or its packed bytes.
  PackedMatrix(const sluice_operand& operand, const MatrixConstant& matrix, Isa isa);

  /// Floats, 16-bit numbers or byte panels, as the matrix says.
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(data_);
  }

 private:
  FloatBuffer own_;
  const void* data_;
};

}  // namespace sluice::cpu
