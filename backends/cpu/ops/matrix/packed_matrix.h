#pragma once

#include <cstdint>

#include "core/float_buffer.h"
#include "core/isa.h"
#include "kernels/strassen/strassen.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// In what form weights are kept: as they are, rounded to the upper 16 bits of a float, or to 8
/// bits and a scale per column.
enum class WeightType : std::uint8_t { kF32, kBf16, kInt8 };

/// A constant f32 matrix B(p, j), p < k, j < n, on its way into the panels of
/// kernels/matrix/gemm.h, kernels/strassen/strassen.h or kernels/bytes/byte_product.h.
struct MatrixConstant {
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t step = 0;    ///< floats from p to p + 1
  std::int64_t column = 0;  ///< floats from j to j + 1
  float scale = 1;
  WeightType type = WeightType::kF32;
  StrassenCut cut;  ///< of weights kept as they are; no levels: the ordinary product
};

std::int64_t packed_bytes(const MatrixConstant& matrix, Isa isa);
sluice_packing describe_packing(const MatrixConstant& matrix, Isa isa);
void pack_matrix(const MatrixConstant& matrix, const float* data, Isa isa, void* packed);

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
