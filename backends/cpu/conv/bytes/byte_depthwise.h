#pragma once

#include <cstdint>
#include <vector>

#include "conv/bytes/byte_conv.h"
#include "conv/depthwise/depthwise_rows.h"

namespace sluice::cpu {

/// A convolution of bytes, of every channel by a filter of its own, c16 to c16; see
/// kernels/bytes/byte_depthwise_tile.h. No pointers into tensors.
struct ByteDepthwisePlan {
  ConvShape shape;
  Extent output;
  ByteConvEpilogue epilogue;
  float input_zero = 0;
  Isa isa = Isa::kPortable;
  bool reuses_input = false;
};

/// Null if the shape is supported, otherwise the reason. Requires: is_depthwise(shape).
const char* byte_depthwise_refusal(const ConvShape& shape);

/// Packed weights are f32, whole numbers, and lie as those of pack_depthwise.
std::int64_t packed_byte_depthwise_bytes(const ConvShape& shape);
void pack_byte_depthwise(const ConvShape& shape, const std::int8_t* weights, float* packed);

/// Requires: byte_depthwise_refusal(shape) == nullptr.
ByteDepthwisePlan plan_byte_depthwise(const ConvShape& shape, ByteConvEpilogue epilogue,
                                      std::uint8_t input_zero, Isa isa);

/// This worker's share. `args.weights` are from pack_byte_depthwise.
void run_byte_depthwise(const ByteDepthwisePlan& plan, const ByteConvArgs& args,
                        const Worker& worker);

}  // namespace sluice::cpu
