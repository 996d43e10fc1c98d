#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "passes/precision/narrow_weights.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

using ir::ElementType;

bool is_half(const ir::Type& type) {
  return type.is_tensor() &&
         (type.element() == ElementType::kF16 || type.element() == ElementType::kBf16);
}

/// Beside the element-wise ones: they mean the same for every float type, which they name nowhere.
const std::set<std::string_view> kArithmetic = {
    "ArgMax",
    "ArgMin",
    "Attention",
    "AveragePool",
    "BatchNormalization",
    "Conv",
    "ConvTranspose",
    "CumSum",
    "Einsum",
    "Gemm",
    "GlobalAveragePool",
    "GlobalLpPool",
    "GlobalMaxPool",
    "GridSample",
    "GroupNormalization",
    "Hardmax",
    "InstanceNormalization",
    "LRN",
    "LayerNormalization",
    "LogSoftmax",
    "LpNormalization",
    "LpPool",
    "MatMul",
    "MaxPool",
    "MeanVarianceNormalization",
    "RMSNormalization",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Resize",
    "RotaryEmbedding",
    "Softmax",
    "TopK",
};

/// They move elements, so they follow what they move.
const std::set<std::string_view> kMovement = {
    "Concat",   "DepthToSpace", "Expand", "Flatten",   "Gather", "GatherElements",
    "GatherND", "Identity",     "Pad",    "Reshape",   "Slice",  "SpaceToDepth",
    "Split",    "Squeeze",      "Tile",   "Transpose", "Trilu",  "Unsqueeze",
};

class Widener {
 public:
  Widener(const ir::Graph& graph, ir::Subgraph& subgraph, const PassContext& context)
      : graph_(graph),
        subgraph_(subgraph),
        context_(context),
        order_(subgraph.order().begin(), subgraph.order().end()) {}

  int run() {
    int num_widened = 0;
    // `order_` is the order before the pass, so casts that it inserts are not visited.
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (reads_cast(order_[i])) continue;
      if (!is_widened(subgraph_.operation(order_[i]))) continue;
      widen(i);
      ++num_widened;
    }
    if (num_widened > 0) sweep(subgraph_);
    return num_widened;
  }

 private:
  const ir::Type& type_of(ir::OperandId id) const { return subgraph_.operand(id).type; }
  bool is_half_operand(ir::OperandId id) const { return id.is_valid() && is_half(type_of(id)); }

  bool is_widened(const ir::Operation& operation) const {
    if (!operation.domain.empty() || operation.body) return false;
    const auto& inputs = operation.inputs;
    const auto has_half = [&](const std::vector<ir::OperandId>& ids) {
      return std::any_of(ids.begin(), ids.end(), [&](auto id) { return is_half_operand(id); });
    };
    if (!has_half(inputs) && !has_half(operation.outputs)) return false;
    const std::string_view kind = operation.kind;
    if (kMovement.contains(kind)) {
      // Movement alone gains nothing from 32 bits. It follows where its input exists in f32 anyway,
      // so that no pair of casts stands before and after it.
      return std::any_of(inputs.begin(), inputs.end(),
                         [&](auto id) { return id.is_valid() && is_computed_.contains(id); });
    }
    if (kind == "Cast" || kind == "CastLike" || kind == "BitCast") return false;
    if (!has_half(inputs) || (!kArithmetic.contains(kind) && !is_elementwise(operation))) {
      return false;
    }
    return !context_.native_halves || !context_.native_halves(graph_, subgraph_, operation);
  }

  static bool is_elementwise(const ir::Operation& operation) {
    return has_trait(operation, ops::kElementwise) && !has_trait(operation, ops::kRandom);
  }

  /// A Cast of what was computed in f32 casts that.
  bool reads_cast(ir::OperationId at) {
    ir::Operation& operation = subgraph_.operation(at);
    if (!operation.is("Cast") || !is_computed_.contains(operation.input(0))) return false;
    // The cast to 16 bits and back between the two is left out, and with it a rounding.
    operation.inputs[0] = wide_.at(operation.input(0));
    return true;
  }

  ir::OperandId wide_constant(ir::OperandId id) {
    const ir::Constant& constant = *subgraph_.find_constant(id);
    const auto values = ir::float_values(constant);
    if (!values) return {};
    const std::vector<float> floats(values->begin(), values->end());
    // Here and not by a Cast, because later passes look for constants.
    return subgraph_.add_constant("", ir::make_f32_constant(floats, *constant.type.shape()));
  }

  /// The operand in f32, by a Cast before the operation `at` if there is none yet.
  ir::OperandId widened(ir::OperandId id, ir::OperationId at) {
    const auto [it, is_new] = wide_.emplace(id, ir::OperandId());
    if (!is_new) return it->second;
    if (subgraph_.is_constant(id)) it->second = wide_constant(id);
    if (it->second.is_valid()) return it->second;
    it->second = add_operand(subgraph_, type_of(id).with_element(ElementType::kF32));
    // Before the first reader; later ones in the order find it in `wide_`.
    subgraph_.insert_operation(at, make_cast(id, it->second));
    return it->second;
  }

  ir::Operation make_cast(ir::OperandId from, ir::OperandId to) {
    const auto element = static_cast<std::int64_t>(type_of(to).element());
    return make_operation(subgraph_, "Cast", {from}, to, {{"to", element}});
  }

  /// The type in which the model has the weights of a product, for `narrow_weights`.
  void mark_weights(ir::Operation& operation) const {
    if (!operation.is("MatMul") && !operation.is("Gemm") && !operation.is("Conv")) return;
    if (!is_half_operand(operation.input(1))) return;
    const bool is_f16 = type_of(operation.input(1)).element() == ElementType::kF16;
    operation.attributes.set(kNarrowWeights, is_f16 ? "f16" : "bf16");
  }

  void widen(std::size_t index) {
    const ir::OperationId at = order_[index];
    std::vector<ir::OperandId> inputs = subgraph_.operation(at).inputs;
    std::vector<ir::OperandId> outputs = subgraph_.operation(at).outputs;
    mark_weights(subgraph_.operation(at));
    for (ir::OperandId& input : inputs) {
      if (is_half_operand(input)) input = widened(input, at);
    }
    for (ir::OperandId& output : outputs) {
      if (!is_half_operand(output)) continue;
      const ir::OperandId narrow = output;
      output = add_operand(subgraph_, type_of(narrow).with_element(ElementType::kF32));
      wide_.insert_or_assign(narrow, output);
      is_computed_.insert(narrow);
      ir::Operation cast = make_cast(output, narrow);
      // Behind the operation and before the next, so that readers of the narrow form still follow.
      if (index + 1 < order_.size()) {
        subgraph_.insert_operation(order_[index + 1], std::move(cast));
      } else {
        subgraph_.add_operation(std::move(cast));
      }
    }
    subgraph_.operation(at).inputs = std::move(inputs);
    subgraph_.operation(at).outputs = std::move(outputs);
  }

  const ir::Graph& graph_;
  ir::Subgraph& subgraph_;
  const PassContext& context_;
  std::vector<ir::OperationId> order_;
  std::map<ir::OperandId, ir::OperandId> wide_;  ///< the same numbers in f32
  std::set<ir::OperandId> is_computed_;          ///< results of widened operations
};

}  // namespace

Result<int> widen_halves(ir::Graph& graph, const PassContext& context) {
  return rewrite_subgraphs(graph, [&](ir::SubgraphId id) -> Result<int> {
    return Widener(graph, graph.subgraph(id), context).run();
  });
}

}  // namespace sluice::passes
