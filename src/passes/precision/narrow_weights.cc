#include "passes/precision/narrow_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/numbers/short_float.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

using ir::ElementType;

std::uint16_t narrow(float value, ElementType element) {
  return element == ElementType::kF16 ? ir::narrow_to_f16(value) : ir::narrow_to_bf16(value);
}

float widen(std::uint16_t bits, ElementType element) {
  return element == ElementType::kF16 ? ir::widen_f16(bits) : ir::widen_bf16(bits);
}

float least_normal(ElementType element) {
  return element == ElementType::kF16 ? 0x1p-14F : std::numeric_limits<float>::min();
}

/// The 16 bits that stand for exactly this number.
std::optional<std::uint16_t> exact_bits(float value, ElementType element) {
  const std::uint16_t bits = narrow(value, element);
  const bool is_exact =
      // Bits, not values: -0 and the payload of NaN must survive.
      std::bit_cast<std::uint32_t>(widen(bits, element)) == std::bit_cast<std::uint32_t>(value);
  return is_exact ? std::optional(bits) : std::nullopt;
}

float float_at(const ir::Constant& constant, std::size_t index) {
  float value = 0;
  std::memcpy(&value, constant.data.data() + index * sizeof value, sizeof value);
  return value;
}

/// True if each number fits 16 bits.
bool is_exact(const ir::Constant& constant, ElementType element) {
  for (std::size_t i = 0; i < constant.data.size() / sizeof(float); ++i) {
    if (!exact_bits(float_at(constant, i), element)) return false;
  }
  return true;
}

/// The same numbers in 16 bits; nullopt if one needs more.
std::optional<ir::Constant> narrowed(const ir::Constant& constant, ElementType element) {
  const std::size_t count = constant.data.size() / sizeof(float);
  std::vector<std::byte> data(count * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = exact_bits(float_at(constant, i), element);
    if (!bits) return std::nullopt;
    std::memcpy(data.data() + i * sizeof *bits, &*bits, sizeof *bits);
  }
  return ir::Constant{constant.type.with_element(element), Bytes::own(std::move(data))};
}

class WeightNarrower {
 public:
  WeightNarrower(ir::Graph& graph, ir::SubgraphId id, const PassContext& context)
      : graph_(graph), subgraph_(graph.subgraph(id)), context_(context) {}

  int run() {
    const std::vector<ir::OperationId> order(subgraph_.order().begin(), subgraph_.order().end());
    int num_narrowed = 0;
    for (const ir::OperationId at : order) num_narrowed += visit(at) ? 1 : 0;
    if (num_narrowed > 0) sweep(subgraph_);
    return num_narrowed;
  }

 private:
  bool visit(ir::OperationId at) {
    ir::Operation& product = subgraph_.operation(at);
    const auto element = narrow_type(product);
    if (!element) return false;
    // The mark is for this pass alone; a package must not carry it.
    product.attributes.erase(kNarrowWeights);
    if (product.is("Conv")) return mark_convolution(product, *element);
    if (product.body || !is_plain_product(product)) return false;
    const ir::OperandId weights = find_narrow(product.input(1), *element);
    return weights.is_valid() && replace(at, weights);
  }

  /// A backend packs the weights in that type.
  bool mark_convolution(ir::Operation& conv, ElementType element) {
    const ir::Constant* weights = subgraph_.find_constant(conv.input(1));
    if (weights == nullptr || weights->type.element() != ElementType::kF32) return false;
    if (!is_exact(*weights, element)) return false;
    conv.attributes.set("sluice_weights", element == ElementType::kF16 ? "f16" : "bf16");
    return true;
  }

  /// The weights in 16 bits; invalid if they are not constant, or need more.
  ir::OperandId find_narrow(ir::OperandId id, ElementType element) {
    // Weights that several products share are narrowed once; an invalid id remembers that they
    // cannot be.
    const auto [it, is_new] = narrow_.emplace(std::pair(id, element), ir::OperandId());
    if (!is_new) return it->second;
    const ir::Constant* constant = subgraph_.find_constant(id);
    if (constant == nullptr || constant->type.element() != ElementType::kF32 ||
        constant->type.shape()->size() != 2) {
      return {};
    }
    auto narrow = narrowed(*constant, element);
    if (!narrow) return {};
    std::string name = subgraph_.operand(id).name;
    it->second = subgraph_.add_constant(std::move(name), std::move(*narrow));
    return it->second;
  }

  bool replace(ir::OperationId at, ir::OperandId weights) {
    const ir::Operation source = subgraph_.operation(at);
    ir::Operation narrow;
    narrow.domain = "sluice";
    narrow.kind = "NarrowMatMul";
    narrow.name = source.name;
    narrow.inputs = {source.input(0), weights};
    narrow.outputs = {source.output(0)};
    narrow.attributes.set("block_size", std::int64_t{0});
    narrow.attributes.set("transB", source.attributes.get_or("transB", std::int64_t{0}));
    // Asked before anything changes: without a kernel the product stays in f32.
    if (!context_.is_accepted(graph_, subgraph_, narrow)) return false;
    if (!source.input(2).is_valid()) {
      subgraph_.operation(at) = std::move(narrow);
      return true;
    }
    const ir::OperandId sum = source.output(0);
    narrow.outputs = {add_operand(subgraph_, subgraph_.operand(sum).type)};
    ir::Operation add = make_operation(subgraph_, "Add", {narrow.output(0), source.input(2)}, sum);
    subgraph_.insert_operation(at, std::move(narrow));
    subgraph_.operation(at) = std::move(add);
    return true;
  }

  ir::Graph& graph_;
  ir::Subgraph& subgraph_;
  const PassContext& context_;
  std::map<std::pair<ir::OperandId, ElementType>, ir::OperandId> narrow_;
};

}  // namespace

std::optional<ElementType> narrow_type(const ir::Operation& product) {
  const auto word = product.attributes.get_or(kNarrowWeights, std::string());
  if (word.empty()) return std::nullopt;
  return word == "f16" ? ElementType::kF16 : ElementType::kBf16;
}

void round_weights(ElementType element, std::span<float> weights) {
  float largest = 0;
  for (const float weight : weights) largest = std::max(largest, std::fabs(weight));
  const float rounded = widen(narrow(largest, element), element);
  // Weights beyond the type's range would become infinite or lose their digits, so they stay as
  // they are.
  if (!std::isfinite(rounded) || rounded < least_normal(element)) return;
  for (float& weight : weights) weight = widen(narrow(weight, element), element);
}

Result<int> narrow_weights(ir::Graph& graph, const PassContext& context) {
  return rewrite_subgraphs(graph, [&](ir::SubgraphId id) -> Result<int> {
    return WeightNarrower(graph, id, context).run();
  });
}

}  // namespace sluice::passes
