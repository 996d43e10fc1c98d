// Functions of tensors, parameters and numbers. `call` (tensor.hpp) reaches the operators that are
// not here.
#pragma once

#include "sluice/trace/tensor.hpp"

namespace sluice::trace {

inline Tensor relu(const Operand& x) { return detail::unary("Relu", x); }
inline Tensor sigmoid(const Operand& x) { return detail::unary("Sigmoid", x); }
inline Tensor tanh(const Operand& x) { return detail::unary("Tanh", x); }
inline Tensor gelu(const Operand& x) { return detail::unary("Gelu", x); }
inline Tensor exp(const Operand& x) { return detail::unary("Exp", x); }
inline Tensor log(const Operand& x) { return detail::unary("Log", x); }
inline Tensor sqrt(const Operand& x) { return detail::unary("Sqrt", x); }
inline Tensor abs(const Operand& x) { return detail::unary("Abs", x); }
inline Tensor sin(const Operand& x) { return detail::unary("Sin", x); }
inline Tensor cos(const Operand& x) { return detail::unary("Cos", x); }

inline Tensor pow(const Operand& x, const Operand& y) { return detail::binary("Pow", x, y); }
inline Tensor minimum(const Operand& a, const Operand& b) { return detail::binary("Min", a, b); }
inline Tensor maximum(const Operand& a, const Operand& b) { return detail::binary("Max", a, b); }
/// Each element of `yes` or of `no`; both are computed.
inline Tensor where(const Operand& condition, const Operand& yes, const Operand& no) {
  const auto [a, b] = detail::tensors_of<2>({yes, no});
  return call({.kind = "Where", .inputs = {condition.tensor, a, b}}, no.line);
}

inline Tensor softmax(const Operand& x, std::int64_t axis = -1) {
  return detail::unary("Softmax", x, {{"axis", axis}});
}
inline Tensor log_softmax(const Operand& x, std::int64_t axis = -1) {
  return detail::unary("LogSoftmax", x, {{"axis", axis}});
}
/// Places of the largest elements, i64.
inline Tensor argmax(const Operand& x, std::int64_t axis = -1) {
  return detail::unary("ArgMax", x, {{"axis", axis}, {"keepdims", 0}});
}

/// Multiplies matrices in the last two dimensions; the others broadcast.
inline Tensor matmul(const Operand& a, const Operand& b) { return detail::binary("MatMul", a, b); }

inline Tensor concat(const std::vector<Tensor>& parts, std::int64_t axis,
                     SourceLine line = SourceLine::current()) {
  return call({.kind = "Concat", .inputs = parts, .attributes = {{"axis", axis}}}, line);
}
/// Rows of `table` along `axis`, at the places of `indices`.
inline Tensor gather(const Operand& table, const Operand& indices, std::int64_t axis = 0) {
  return call(
      {.kind = "Gather", .inputs = {table.tensor, indices.tensor}, .attributes = {{"axis", axis}}},
      indices.line);
}

/// `x` [N,C,spatial...], `weight` [O,C/groups,kernel...], `bias` [O] or absent.
struct ConvOptions {
  std::vector<std::int64_t> strides = {};  ///< empty: 1 each
  std::vector<std::int64_t> pads = {};     ///< begins, then ends; empty: 0 each
  std::vector<std::int64_t> dilations = {};
  std::int64_t groups = 1;
};
inline Tensor conv(const Operand& x, const Operand& weight, const Operand& bias = Tensor(),
                   const ConvOptions& options = {}) {
  std::vector<Attribute> attributes = {{"group", options.groups}};
  if (!options.strides.empty()) attributes.emplace_back("strides", options.strides);
  if (!options.pads.empty()) attributes.emplace_back("pads", options.pads);
  if (!options.dilations.empty()) attributes.emplace_back("dilations", options.dilations);
  return call(
      {.kind = "Conv", .inputs = {x.tensor, weight.tensor, bias.tensor}, .attributes = attributes},
      x.line);
}

/// Over windows of `size`, which move by `strides`; empty: by `size`.
inline Tensor max_pool(const Operand& x, std::vector<std::int64_t> size,
                       std::vector<std::int64_t> strides = {}) {
  if (strides.empty()) strides = size;
  return detail::unary("MaxPool", x,
                       {{"kernel_shape", std::move(size)}, {"strides", std::move(strides)}});
}
inline Tensor average_pool(const Operand& x, std::vector<std::int64_t> size,
                           std::vector<std::int64_t> strides = {}) {
  if (strides.empty()) strides = size;
  return detail::unary("AveragePool", x,
                       {{"kernel_shape", std::move(size)}, {"strides", std::move(strides)}});
}

/// Over the last axis, as layer normalization has it; `bias` may be absent.
inline Tensor layer_norm(const Operand& x, const Operand& scale, const Operand& bias = Tensor(),
                         float epsilon = 1e-5F) {
  return call({.kind = "LayerNormalization",
               .inputs = {x.tensor, scale.tensor, bias.tensor},
               .attributes = {{"axis", -1}, {"epsilon", epsilon}}},
              x.line);
}
/// Normalizes channels with the statistics of the training.
inline Tensor batch_norm(const Operand& x, const Operand& scale, const Operand& bias,
                         const Operand& mean, const Operand& variance, float epsilon = 1e-5F) {
  return call({.kind = "BatchNormalization",
               .inputs = {x.tensor, scale.tensor, bias.tensor, mean.tensor, variance.tensor},
               .attributes = {{"epsilon", epsilon}}},
              x.line);
}

}  // namespace sluice::trace
