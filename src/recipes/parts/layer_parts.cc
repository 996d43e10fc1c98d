#include "recipes/parts/layer_parts.h"

namespace sluice::recipes {

LayerParts::LayerParts(const DecoderShape& shape, Builder& build) : shape_(shape), build_(build) {
  const DecoderNames& names = shape.names;
  const std::string whole = std::string(names.prefix) + std::string(names.table) + ".weight";
  if (build.has_weight(whole)) prefix_ = names.prefix;
}

std::string LayerParts::named(std::string_view name) const {
  return std::string(prefix_) + std::string(name);
}

OperandId LayerParts::norm(OperandId x, const std::string& name, std::int64_t width) {
  OperandId scale = build_.wide_weight(name + ".weight", {width});
  const Builder::Attributes attributes = {{"axis", std::int64_t{-1}}, {"epsilon", shape_.epsilon}};
  if (shape_.has_mean_norms) {
    const OperandId shift = build_.wide_weight(name + ".bias", {width});
    return build_.op("LayerNormalization", {x, scale, shift}, attributes);
  }
  if (shape_.has_norms_around_1) scale = build_.op("Add", {scale, build_.floats({1}, {1})});
  return build_.op("RMSNormalization", {x, scale}, attributes);
}

OperandId LayerParts::linear(OperandId x, const std::string& name, std::int64_t out,
                             std::int64_t in, bool has_bias) {
  const Builder::Lies lies = shape_.is_straight ? Builder::Lies::kInOut : Builder::Lies::kOutIn;
  const OperandId y = build_.product(x, name + ".weight", out, in, lies);
  if (!has_bias) return y;
  return build_.op("Add", {y, build_.wide_weight(name + ".bias", {out})});
}

std::vector<OperandId> LayerParts::joined(OperandId x, const std::string& name,
                                          const Builder::Ints& widths, std::int64_t in,
                                          bool has_bias) {
  std::int64_t out = 0;
  for (const std::int64_t width : widths) out += width;
  const OperandId y = linear(x, name, out, in, has_bias);
  return build_.ops("Split", {y, build_.ints(widths)}, widths.size(), {{"axis", std::int64_t{1}}});
}

OperandId LayerParts::bent(OperandId x) {
  if (!shape_.has_gelu) return build_.op("Mul", {x, build_.op("Sigmoid", {x})});
  return build_.op("Gelu", {x}, {{"approximate", std::string("tanh")}});
}

OperandId LayerParts::gated(OperandId x, const std::string& layer) {
  const DecoderNames& names = shape_.names;
  const auto product = [&](std::string_view name) {
    return linear(x, layer + std::string(name), shape_.inner_width, shape_.width,
                  shape_.has_inner_bias);
  };
  if (!names.joined_up.empty()) {
    const auto parts =
        joined(x, layer + std::string(names.joined_up), {shape_.inner_width, shape_.inner_width},
               shape_.width, shape_.has_inner_bias);
    return build_.op("Mul", {bent(parts[0]), parts[1]});
  }
  if (names.gate.empty()) return bent(product(names.up));
  const OperandId gate = product(names.gate);
  return build_.op("Mul", {bent(gate), product(names.up)});
}

OperandId LayerParts::inner(OperandId x, const std::string& layer) {
  return linear(gated(x, layer), layer + std::string(shape_.names.down), shape_.width,
                shape_.inner_width, shape_.has_inner_bias);
}

}  // namespace sluice::recipes
