// Keeps the large weights of a model out of protobuf's memory.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::onnx {

/// A ModelProto in two parts.
struct SplitModel {
  std::string message;  ///< the ModelProto without the bytes in `raw`
  /// The raw_data of each initializer of the main graph, by its index: slices of the bytes that
  /// were split. Empty for what stayed in the message.
  std::vector<std::span<const std::byte>> raw;
};

/// Takes raw data of 4096 bytes or more out of the main graph's initializers. Reads the message as
/// https://protobuf.dev/programming-guides/encoding describes it.
/// Returns nullopt if there is nothing to take out or the bytes are no message that this
/// understands; protobuf parses the whole then, and knows the error.
std::optional<SplitModel> split_model(std::span<const std::byte> bytes);

}  // namespace sluice::onnx
