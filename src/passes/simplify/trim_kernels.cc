#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

using Ints = std::vector<std::int64_t>;

/// A Conv along one spatial axis.
struct Axis {
  std::int64_t input = 0, taps = 0, outputs = 0;
  std::int64_t stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
  std::int64_t first = 0;  ///< taps that go from the front
  std::int64_t last = 0;   ///< and from the back

  /// Whether no output reads an element of the input through tap `t`.
  bool reads_padding_alone(std::int64_t t) const {
    const std::int64_t least = t * dilation - pad_begin;
    const std::int64_t most = least + (outputs - 1) * stride;
    return most < 0 || least >= input;
  }
};

/// Padding cannot become negative, and one tap stays.
void find_dead_taps(Axis& axis) {
  while (axis.first + 1 < axis.taps && axis.reads_padding_alone(axis.first) &&
         axis.pad_begin >= (axis.first + 1) * axis.dilation) {
    ++axis.first;
  }
  while (axis.first + axis.last + 1 < axis.taps &&
         axis.reads_padding_alone(axis.taps - 1 - axis.last) &&
         axis.pad_end >= (axis.last + 1) * axis.dilation) {
    ++axis.last;
  }
}

Ints ints_or(const ir::Operation& conv, std::string_view name, std::size_t count,
             std::int64_t value) {
  Ints ints = conv.attributes.get_or<Ints>(name, {});
  return ints.empty() ? Ints(count, value) : ints;
}

/// Empty if shapes are not known or the padding is automatic.
std::vector<Axis> axes_of(const ir::Subgraph& subgraph, const ir::Operation& conv) {
  const auto input = subgraph.operand(conv.input(0)).type.static_dims();
  const auto weights = subgraph.operand(conv.input(1)).type.static_dims();
  const auto output = subgraph.operand(conv.output(0)).type.static_dims();
  if (!input || !weights || !output || input->size() != weights->size() || input->size() < 3 ||
      input->size() != output->size() ||
      conv.attributes.get_or<std::string>("auto_pad", "NOTSET") != "NOTSET") {
    return {};
  }
  const std::size_t spatial = input->size() - 2;
  const Ints strides = ints_or(conv, "strides", spatial, 1);
  const Ints dilations = ints_or(conv, "dilations", spatial, 1);
  const Ints pads = ints_or(conv, "pads", 2 * spatial, 0);
  if (strides.size() != spatial || dilations.size() != spatial || pads.size() != 2 * spatial) {
    return {};
  }
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < spatial; ++i) {
    axes.push_back({(*input)[i + 2], (*weights)[i + 2], (*output)[i + 2], strides[i], dilations[i],
                    pads[i], pads[i + spatial]});
    find_dead_taps(axes.back());
  }
  return axes;
}

/// Whether padding times any weight is 0. The dropped products are then zeros that a sum ignores.
bool is_finite(const ir::Constant& weights) {
  if (!ir::is_floating_point(weights.type.element())) return true;
  const auto values = ir::float_values(weights);
  return values && std::ranges::all_of(*values, [](double value) { return std::isfinite(value); });
}

/// The weights [M, C, taps...] without the dead taps.
ir::Constant trimmed(const ir::Constant& weights, const std::vector<Axis>& axes) {
  const Ints dims = *weights.type.static_dims();
  Ints kept = {dims[0], dims[1]};
  std::int64_t taps = 1;
  for (const Axis& axis : axes) {
    kept.push_back(axis.taps - axis.first - axis.last);
    taps *= kept.back();
  }
  const std::size_t width = ir::element_bits(weights.type.element()) / 8;
  std::vector<std::byte> data(static_cast<std::size_t>(dims[0] * dims[1] * taps) * width);
  for (std::int64_t i = 0; i < dims[0] * dims[1] * taps; ++i) {
    std::int64_t rest = i % taps, from = 0, scale = 1;
    for (std::size_t d = axes.size(); d-- > 0;) {
      from += (rest % kept[d + 2] + axes[d].first) * scale;
      rest /= kept[d + 2];
      scale *= axes[d].taps;
    }
    std::memcpy(
        data.data() + static_cast<std::size_t>(i) * width,
        weights.data.view().data() + static_cast<std::size_t>(i / taps * scale + from) * width,
        width);
  }
  return {ir::Type::tensor(weights.type.element(), ir::Shape(kept.begin(), kept.end())),
          Bytes::own(std::move(data))};
}

bool trim(ir::Subgraph& subgraph, ir::OperationId at) {
  const ir::Operation& conv = subgraph.operation(at);
  if (!conv.is("Conv") || !conv.input(1).is_valid()) return false;
  const ir::Constant* weights = subgraph.find_constant(conv.input(1));
  if (weights == nullptr || ir::element_bits(weights->type.element()) % 8 != 0) return false;
  const std::vector<Axis> axes = axes_of(subgraph, conv);
  const auto has_dead = [](const Axis& axis) { return axis.first + axis.last > 0; };
  if (std::none_of(axes.begin(), axes.end(), has_dead) || !is_finite(*weights)) return false;
  Ints kernel, pads(axes.size() * 2);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    kernel.push_back(axes[i].taps - axes[i].first - axes[i].last);
    pads[i] = axes[i].pad_begin - axes[i].first * axes[i].dilation;
    pads[i + axes.size()] = axes[i].pad_end - axes[i].last * axes[i].dilation;
  }
  const ir::OperandId smaller = subgraph.add_constant("", trimmed(*weights, axes));
  ir::Operation& changed = subgraph.operation(at);
  changed.inputs[1] = smaller;
  changed.attributes.set("kernel_shape", kernel);
  changed.attributes.set("pads", pads);
  return true;
}

}  // namespace

Result<int> trim_kernels(ir::Graph& graph, const PassContext& /*context*/) {
  return rewrite_operations(graph, [](ir::Subgraph& subgraph, const Matcher& /*matcher*/,
                                      ir::OperationId at) { return trim(subgraph, at); });
}

}  // namespace sluice::passes
