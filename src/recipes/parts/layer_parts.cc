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

OperandId LayerParts::experts(OperandId x, const std::string& layer) {
  const ExpertShape& e = shape_.experts;
  const std::int64_t last = -1;
  // Never rounded: a little of a score would change which experts are taken.
  const OperandId router =
      build_.wide_weight(layer + std::string(e.router) + ".weight", {e.count, shape_.width});
  const OperandId scores = build_.op(
      "Gemm", {x, router}, {{"transB", std::int64_t{1}}, {"sluice_weights", std::string("f32")}});
  const OperandId likely = build_.op("Softmax", {scores}, {{"axis", last}});
  const auto best = build_.ops("TopK", {likely, build_.ints({e.used})}, 2, {{"axis", last}});
  OperandId shares = best[0];
  if (e.is_normalized) {
    shares = build_.op("Div", {shares, build_.op("ReduceSum", {shares, build_.ints({last})})});
  }
  const auto routed = [&](OperandId rows, std::string_view name, std::int64_t out,
                          std::int64_t in) {
    return build_.routed_product(rows, best[1], layer + std::string(name) + ".weight",
                                 {e.count, out, in});
  };
  const OperandId gate = bent(routed(x, e.gate, e.width, shape_.width));
  const OperandId inner = build_.op("Mul", {gate, routed(x, e.up, e.width, shape_.width)});
  const OperandId each = routed(inner, e.down, shape_.width, e.width);
  const OperandId weighed =
      build_.op("Mul", {each, build_.op("Unsqueeze", {shares, build_.ints({2})})});
  const OperandId sum =
      build_.op("ReduceSum", {weighed, build_.ints({1})}, {{"keepdims", std::int64_t{0}}});
  if (e.shared_width == 0) return sum;
  return build_.op("Add", {sum, shared_expert(x, layer)});
}

/// The expert of every token, weighed by a sigmoid gate.
OperandId LayerParts::shared_expert(OperandId x, const std::string& layer) {
  const std::string name = layer + "mlp.shared_expert.";
  const std::int64_t width = shape_.experts.shared_width;
  const OperandId gate = bent(linear(x, name + "gate_proj", width, shape_.width, false));
  const OperandId up = linear(x, name + "up_proj", width, shape_.width, false);
  const OperandId all =
      linear(build_.op("Mul", {gate, up}), name + "down_proj", shape_.width, width, false);
  const OperandId share =
      build_.op("Sigmoid", {linear(x, layer + "mlp.shared_expert_gate", 1, shape_.width, false)});
  return build_.op("Mul", {all, share});
}

OperandId LayerParts::inner(OperandId x, const std::string& layer, std::size_t index) {
  const ExpertShape& e = shape_.experts;
  if (e.count > 0 && (e.is_in_layer.empty() || e.is_in_layer[index])) return experts(x, layer);
  return linear(gated(x, layer), layer + std::string(shape_.names.down), shape_.width,
                shape_.inner_width, shape_.has_inner_bias);
}

}  // namespace sluice::recipes
