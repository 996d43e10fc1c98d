#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

bool has_weights(const ir::Subgraph& subgraph, const ir::Operation& operation) {
  const bool is_product = operation.kind == "MatMul" || operation.kind == "Gemm";
  if (!operation.domain.empty() || !is_product) return false;
  if (!subgraph.is_constant(operation.inputs[1])) return false;
  const ir::Type& type = subgraph.operand(operation.inputs[1]).type;
  return type.element() == ir::ElementType::kF32 && type.shape() != nullptr &&
         type.shape()->size() == 2;
}

/// A product whose weights the model has in 16 bits, or in blocks of fewer; or those of experts.
bool has_narrow_weights(const ir::Operation& operation) {
  return operation.is("NarrowMatMul", "sluice") || operation.is("RoutedMatMul", "sluice");
}

/// The attribute "f32" keeps a product exact.
bool stays_exact(const ir::Operation& operation) {
  return operation.attributes.get_or("sluice_weights", std::string()) == "f32";
}

template <typename Value>
Result<int> mark(ir::Graph& graph, const char* attribute, Value value, bool takes_narrow = false) {
  return rewrite_subgraphs(graph, [&](ir::SubgraphId id) -> Result<int> {
    ir::Subgraph& subgraph = graph.subgraph(id);
    int marked = 0;
    for (const ir::OperationId at : subgraph.order()) {
      ir::Operation& operation = subgraph.operation(at);
      const bool is_narrow = takes_narrow && has_narrow_weights(operation);
      if (!is_narrow && !has_weights(subgraph, operation)) continue;
      if (stays_exact(operation)) continue;
      operation.attributes.set(attribute, value);
      ++marked;
    }
    return marked;
  });
}

}  // namespace

Result<int> allow_rounded_weights(ir::Graph& graph, const PassContext&) {
  return mark(graph, "sluice_weights", "bf16");
}

Result<int> allow_byte_products(ir::Graph& graph, const PassContext&) {
  return mark(graph, "sluice_weights", "int8", true);
}

Result<int> allow_one_strassen_level(ir::Graph& graph, const PassContext&) {
  return mark(graph, "sluice_strassen", std::int64_t{1});
}

Result<int> allow_two_strassen_levels(ir::Graph& graph, const PassContext&) {
  return mark(graph, "sluice_strassen", std::int64_t{2});
}

}  // namespace sluice::passes
