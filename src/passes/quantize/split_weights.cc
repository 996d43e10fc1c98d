#include "passes/quantize/split_weights.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "passes/quantize/quantization.h"

namespace sluice::passes {

std::optional<SplitWeights> split_weights(const Matcher& matcher, ir::OperandId id) {
  const ir::Subgraph& subgraph = matcher.subgraph();
  const ir::Operation* operation = matcher.find(id, "DequantizeLinear");
  if (operation == nullptr || operation->body ||
      operation->attributes.get_or("block_size", std::int64_t{0}) != 0) {
    return std::nullopt;
  }
  const auto bytes = read_bytes(subgraph, operation->input(0), operation->input(2), 0);
  const ir::Constant* scale = subgraph.find_constant(operation->input(1));
  const auto scales = scale == nullptr ? std::nullopt : ir::float_values(*scale);
  if (!bytes || !scales || !are_scales(*scales)) return std::nullopt;
  SplitWeights split;
  split.scales = *scales;
  const auto channels = static_cast<std::size_t>(bytes->shape[0].value());
  if (scales->size() == 1) split.scales.assign(channels, scales->front());
  const bool is_per_channel =
      scales->size() == 1 || operation->attributes.get_or("axis", std::int64_t{1}) == 0;
  if (!is_per_channel || split.scales.size() != channels) return std::nullopt;
  std::vector<std::byte> main, rest;
  for (const std::int64_t step : bytes->steps) {
    // A byte less its zero point takes 9 bits. Two signed bytes add up to it, except to 255; both
    // products add up exactly.
    const std::int64_t near = std::clamp<std::int64_t>(step, -128, 127);
    if (step - near > 127 || step - near < -128) return std::nullopt;
    main.push_back(static_cast<std::byte>(static_cast<std::int8_t>(near)));
    rest.push_back(static_cast<std::byte>(static_cast<std::int8_t>(step - near)));
  }
  const ir::Type type = ir::Type::tensor(ir::ElementType::kI8, bytes->shape);
  split.main = {type, sluice::Bytes::own(std::move(main))};
  split.rest = {type, sluice::Bytes::own(std::move(rest))};
  return split;
}

}  // namespace sluice::passes
