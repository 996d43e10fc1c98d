// Reading QuantizeLinear and DequantizeLinear.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "passes/match.h"

namespace sluice::passes {

inline const ir::Type& type_of(const ir::Subgraph& subgraph, ir::OperandId id) {
  return subgraph.operand(id).type;
}

inline bool is_byte(ir::ElementType element) {
  return element == ir::ElementType::kU8 || element == ir::ElementType::kI8;
}

/// Whether sums of bytes may be multiplied by these scales in place of each byte: all are 0 or
/// moderate numbers.
bool are_scales(const std::vector<double>& scales);

/// Constant bytes with their zero points, as differences from them.
struct Bytes8 {
  std::vector<std::int64_t> steps;
  ir::Shape shape;
};

/// The steps of constant `id`; the zero points are one, or one per index of `axis`. Absent: 0.
std::optional<Bytes8> read_bytes(const ir::Subgraph& subgraph, ir::OperandId id, ir::OperandId zero,
                                 std::size_t axis);

/// One scale and one zero point for a whole tensor of bytes: x = (q - zero) * scale. The scale is
/// above 0 and moderate, so that quantizing x again gives q.
struct Quantization {
  float scale = 1;
  int zero = 0;
  bool has_sign = false;

  bool operator==(const Quantization&) const = default;
  /// The numbers of the lowest and the highest byte, to which quantizing clips.
  double low() const { return ((has_sign ? -128.0 : 0.0) - zero) * scale; }
  double high() const { return low() + 255.0 * scale; }
  /// Whether the range covers both signs; otherwise clipping to it acts as a Relu.
  bool has_both_signs() const {
    const int lowest = has_sign ? -128 : 0;
    return zero > lowest && zero < lowest + 255;
  }
};

/// The numbers of a QuantizeLinear or DequantizeLinear between f32 and bytes; none unless constant.
std::optional<Quantization> quantization_of(const ir::Subgraph& subgraph,
                                            const ir::Operation& operation);

/// A tensor of bytes and its quantization.
struct Quantized {
  ir::OperandId bytes;
  Quantization quantization;
};

/// The tensor of bytes that `id` is dequantized from.
std::optional<Quantized> dequantized_from(const Matcher& matcher, ir::OperandId id);

/// The only reader of `id`, if it is one QuantizeLinear to bytes: its result. `at` is that
/// operation.
std::optional<Quantized> quantized_to(const Matcher& matcher, ir::OperandId id,
                                      ir::OperationId* at);

/// Whether the zero points of a DequantizeLinear are absent or constant zeros.
bool has_no_zero_point(const ir::Subgraph& subgraph, const ir::Operation& operation);

/// A constant of i8 for an f32 tensor, with a scale per index of its first axis.
struct QuantizedWeights {
  ir::OperandId bytes;
  std::vector<double> scales;
};

/// The weights that `id` is dequantized from, if all zero points are 0.
std::optional<QuantizedWeights> quantized_weights(const Matcher& matcher, ir::OperandId id);

/// Whether 8 bits pay off for a Conv: it is dense or depthwise.
bool computes_with_bytes(const ir::Subgraph& subgraph, const ir::Operation& conv);

}  // namespace sluice::passes
