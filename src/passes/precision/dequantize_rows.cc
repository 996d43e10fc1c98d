// Looks rows of quantized constants up before they are dequantized.
#include <cstdint>
#include <utility>
#include <vector>

#include "passes/match.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

/// A Gather of a dequantized constant, and how its scales lie.
struct Lookup {
  ir::Operation gather;
  ir::Operation dequantize;
  std::int64_t axis = 0;        ///< of the Gather
  std::int64_t blocked = 0;     ///< of the scales
  std::int64_t index_rank = 0;  ///< of the indices
  bool has_rows = false;        ///< of scales
};

std::int64_t rank_of(const ir::Subgraph& subgraph, ir::OperandId id) {
  const ir::Shape* shape = subgraph.operand(id).type.shape();
  return shape == nullptr ? -1 : static_cast<std::int64_t>(shape->size());
}

std::optional<Lookup> find_lookup(const Matcher& matcher, ir::OperationId at) {
  const ir::Subgraph& subgraph = matcher.subgraph();
  const ir::Operation& gather = subgraph.operation(at);
  if (!gather.is("Gather") || gather.body) return std::nullopt;
  const ir::Operation* dequantize = matcher.find(gather.input(0), "DequantizeLinear");
  if (dequantize == nullptr || !subgraph.is_constant(dequantize->input(0))) return std::nullopt;
  Lookup lookup = {gather, *dequantize};
  const std::int64_t rank = rank_of(subgraph, dequantize->input(0));
  const std::int64_t scale_rank = rank_of(subgraph, dequantize->input(1));
  lookup.index_rank = rank_of(subgraph, gather.input(1));
  if (rank < 1 || scale_rank < 0 || lookup.index_rank < 0) return std::nullopt;
  const bool has_zeros = dequantize->input(2).is_valid();
  if (has_zeros && rank_of(subgraph, dequantize->input(2)) != scale_rank) return std::nullopt;
  lookup.axis = gather.attributes.get_or("axis", std::int64_t{0});
  lookup.blocked = dequantize->attributes.get_or("axis", std::int64_t{1});
  if (lookup.axis < 0) lookup.axis += rank;
  if (lookup.blocked < 0) lookup.blocked += rank;
  lookup.has_rows = dequantize->attributes.get_or("block_size", std::int64_t{0}) > 0;
  if (lookup.axis < 0 || lookup.axis >= rank) return std::nullopt;
  // The same axis selects rows of the scales, so the scales need the rank of the data.
  if (lookup.has_rows && scale_rank != rank) return std::nullopt;
  // A scale for all, or one per place of another axis, stays what it is.
  if (scale_rank > 0 && lookup.axis == lookup.blocked) return std::nullopt;
  return lookup;
}

class RowsFirst {
 public:
  RowsFirst(ir::Subgraph& subgraph, ir::OperationId at, Lookup lookup)
      : subgraph_(subgraph), at_(at), lookup_(std::move(lookup)) {}

  void run() {
    ir::Operation dequantize = lookup_.dequantize;
    dequantize.inputs[0] = rows_of(dequantize.inputs[0]);
    for (std::size_t i = 1; i < dequantize.inputs.size() && lookup_.has_rows; ++i) {
      if (dequantize.inputs[i].is_valid()) dequantize.inputs[i] = rows_of(dequantize.inputs[i]);
    }
    if (lookup_.blocked > lookup_.axis) lookup_.blocked += lookup_.index_rank - 1;
    dequantize.attributes.set("axis", lookup_.blocked);
    dequantize.outputs = lookup_.gather.outputs;
    dequantize.name = lookup_.gather.name;
    subgraph_.operation(at_) = std::move(dequantize);
  }

 private:
  ir::OperandId rows_of(ir::OperandId from) {
    ir::Operation gather = lookup_.gather;
    gather.inputs[0] = from;
    const ir::Type type = subgraph_.operand(from).type;
    const ir::Shape& indices = *subgraph_.operand(gather.input(1)).type.shape();
    ir::Shape shape = *type.shape();
    const auto at = shape.erase(shape.begin() + lookup_.axis);
    shape.insert(at, indices.begin(), indices.end());
    ir::Type rows = ir::Type::tensor(type.element(), std::move(shape));
    gather.outputs = {add_operand(subgraph_, std::move(rows))};
    const ir::OperandId result = gather.output(0);
    subgraph_.insert_operation(at_, std::move(gather));
    return result;
  }

  ir::Subgraph& subgraph_;
  ir::OperationId at_;
  Lookup lookup_;
};

int run(ir::Subgraph& subgraph) {
  const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
  const Matcher matcher(subgraph);
  std::vector<std::pair<ir::OperationId, Lookup>> found;
  for (const ir::OperationId at : order) {
    if (auto lookup = find_lookup(matcher, at)) found.emplace_back(at, std::move(*lookup));
  }
  for (auto& [at, lookup] : found) RowsFirst(subgraph, at, std::move(lookup)).run();
  if (!found.empty()) sweep(subgraph);
  return static_cast<int>(found.size());
}

}  // namespace

Result<int> dequantize_rows(ir::Graph& graph, const PassContext&) {
  return rewrite_subgraphs(
      graph, [&](ir::SubgraphId id) -> Result<int> { return run(graph.subgraph(id)); });
}

}  // namespace sluice::passes
