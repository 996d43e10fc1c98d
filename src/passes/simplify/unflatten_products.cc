#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "passes/match.h"
#include "passes/precision/narrow_weights.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

/// A Gemm of a constant matrix over rows, between two Reshapes that fold and unfold the rows.
struct Flattened {
  ir::OperandId x, weight, bias;
  bool is_transposed = false;
  std::string narrow;  ///< attribute kNarrowWeights of the Gemm
};

/// Whether the result keeps all dimensions of x but the last.
bool same_rows(const ir::Subgraph& subgraph, ir::OperandId x, ir::OperandId result) {
  const ir::Shape* from = subgraph.operand(x).type.shape();
  const ir::Shape* to = subgraph.operand(result).type.shape();
  return from != nullptr && to != nullptr && from->size() == to->size() && from->size() >= 2 &&
         std::equal(from->begin(), from->end() - 1, to->begin());
}

std::optional<Flattened> match(const Matcher& matcher, const ir::Operation& root) {
  const ir::Subgraph& subgraph = matcher.subgraph();
  const ir::Operation* gemm = matcher.find(root.inputs[0], "Gemm");
  // Another reader needs the folded rows, so the product would be computed twice.
  if (gemm == nullptr || !is_plain_product(*gemm) ||
      !matcher.uses().has_single_use(root.inputs[0])) {
    return std::nullopt;
  }
  const ir::Operation* fold = matcher.find(gemm->inputs[0], "Reshape");
  if (fold == nullptr || !subgraph.is_constant(gemm->inputs[1])) return std::nullopt;
  Flattened found{fold->inputs[0], gemm->inputs[1], gemm->input(2),
                  gemm->attributes.get_or("transB", std::int64_t{0}) != 0,
                  gemm->attributes.get_or(kNarrowWeights, std::string())};
  const ir::Shape& weight = *subgraph.operand(found.weight).type.shape();
  const ir::Shape* x = subgraph.operand(found.x).type.shape();
  const bool same_columns =
      x != nullptr && !x->empty() && x->back() == weight[found.is_transposed ? 1 : 0];
  if (!same_columns || !same_rows(subgraph, found.x, root.outputs[0])) return std::nullopt;
  if (!found.bias.is_valid()) return found;
  const ir::Shape* bias = subgraph.operand(found.bias).type.shape();
  // A bias of rank 2 belongs to folded rows, and would not broadcast the same way here.
  return bias != nullptr && bias->size() == 1 ? std::optional(found) : std::nullopt;
}

/// Inserts the new operations before `at`, and replaces `at` by the last of them.
void replace(ir::Subgraph& subgraph, ir::OperationId at, const Flattened& found) {
  const ir::OperandId result = subgraph.operation(at).outputs[0];
  const ir::Type type = subgraph.operand(result).type;
  ir::OperandId weight = found.weight;
  if (found.is_transposed) {
    const ir::Type& stored = subgraph.operand(weight).type;
    const ir::Shape& shape = *stored.shape();
    const ir::OperandId turned =
        add_operand(subgraph, stored.with_shape(ir::Shape{shape[1], shape[0]}));
    // The weight is a constant: `fold_constants` computes this at compile time.
    subgraph.insert_operation(at, make_operation(subgraph, "Transpose", {weight}, turned,
                                                 {{"perm", std::vector<std::int64_t>{1, 0}}}));
    weight = turned;
  }
  ir::Attributes attributes;
  if (!found.narrow.empty()) attributes.set(kNarrowWeights, found.narrow);
  if (!found.bias.is_valid()) {
    subgraph.operation(at) =
        make_operation(subgraph, "MatMul", {found.x, weight}, result, std::move(attributes));
    return;
  }
  const ir::OperandId product = add_operand(subgraph, type);
  ir::Operation multiply =
      make_operation(subgraph, "MatMul", {found.x, weight}, product, std::move(attributes));
  multiply.name = subgraph.operation(at).name;
  subgraph.insert_operation(at, std::move(multiply));
  subgraph.operation(at) = make_operation(subgraph, "Add", {product, found.bias}, result);
}

}  // namespace

Result<int> unflatten_products(ir::Graph& graph, const PassContext& /*context*/) {
  return rewrite_operations(graph,
                            [](ir::Subgraph& subgraph, const Matcher& matcher, ir::OperationId at) {
                              const ir::Operation& root = subgraph.operation(at);
                              if (!root.is("Reshape") || root.body) return false;
                              const auto found = match(matcher, root);
                              if (found) replace(subgraph, at, *found);
                              return found.has_value();
                            });
}

}  // namespace sluice::passes
