// Type inference over a whole graph.
#include <optional>
#include <string>

#include "base/text/plural.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

constexpr int kMaxNesting = 32;
/// A loop infers its body until the types hold, so nested loops multiply.
constexpr int kMaxCalls = 1 << 16;

class GraphInference {
 public:
  GraphInference(ir::Graph& graph, std::vector<std::string>* stale)
      : graph_(graph),
        stale_(stale),
        infer_subgraph_{graph, [this](ir::SubgraphId id, std::span<const ir::Type> types) {
                          return run_called(id, types);
                        }} {}

  Status run(ir::SubgraphId id) {
    ir::Subgraph& subgraph = graph_.subgraph(id);
    SubgraphFacts facts;
    for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
      facts.push_back(facts_of(subgraph.operand(ir::OperandId(i))));
    }
    for (const ir::OperationId operation : subgraph.order()) {
      SLUICE_TRY(run_operation(id, operation, facts));
    }
    return ok_status();
  }

 private:
  Result<std::vector<ir::Type>> run_called(ir::SubgraphId id, std::span<const ir::Type> types) {
    if (!id.is_valid() || id.index() >= graph_.num_subgraphs()) {
      return invalid_argument("subgraph {} does not exist", id.value());
    }
    if (depth_ >= kMaxNesting) return invalid_argument("subgraphs are nested too deeply");
    if (++num_calls_ > kMaxCalls) {
      return make_error(Code::kResourceExhausted, "loops nest too deeply to infer their types");
    }
    ir::Subgraph& subgraph = graph_.subgraph(id);
    if (types.size() != subgraph.inputs.size()) {
      return invalid_argument("subgraph \"{}\" takes {} but gets {}", subgraph.name,
                              counted(subgraph.inputs.size(), "input"), types.size());
    }
    // The call decides, not the file: a loop infers its body several times, with other types.
    for (std::size_t i = 0; i < types.size(); ++i) {
      subgraph.operand(subgraph.inputs[i]).type = types[i];
    }
    ++depth_;
    const Status status = run(id);
    --depth_;
    SLUICE_TRY(Status(status));
    std::vector<ir::Type> outputs;
    for (const ir::OperandId output : subgraph.outputs) {
      outputs.push_back(subgraph.operand(output).type);
    }
    return outputs;
  }

  Status run_operation(ir::SubgraphId where, ir::OperationId id, SubgraphFacts& facts) {
    ir::Subgraph& subgraph = graph_.subgraph(where);
    const ir::Operation& operation = subgraph.operation(id);
    const auto inputs = input_facts(operation, facts);
    InferenceContext context(operation, inputs, &infer_subgraph_);
    // A type of the graph must hold for every run, so a size that data decides stays unknown.
    context.hide_bounds();
    context.set_subgraph(where);
    SLUICE_TRY(infer_operation(context));
    for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
      const ir::OperandId output = operation.outputs[i];
      if (!output.is_valid()) continue;
      ir::Operand& operand = subgraph.operand(output);
      SLUICE_TRY(set_type(operand, context.output(i), operation));
      const bool is_tensor = operand.type.is_tensor();
      facts[output.index()] = {is_tensor ? operand.type : context.output(i),
                               context.output_values(i), std::nullopt};
    }
    return ok_status();
  }

  /// Only the declaration gives the item type of an empty sequence, and the element type of an
  /// optional that a loop passes on.
  static bool is_told_by_declaration(const ir::Type& declared, const ir::Type& inferred) {
    using Kind = ir::Type::Kind;
    if (declared.kind() == Kind::kUnknown) return false;
    if (inferred.kind() == Kind::kUnknown) return true;
    if (inferred.kind() == Kind::kSequence) return inferred.item().kind() == Kind::kUnknown;
    return inferred.kind() == Kind::kOptional && inferred.item().kind() == declared.kind();
  }

  /// The inferred type wins; a declared one may only say less, or the same.
  Status set_type(ir::Operand& operand, const ir::Type& inferred, const ir::Operation& operation) {
    const ir::Type& declared = operand.type;
    const bool elements_clash = declared.is_tensor() && inferred.is_tensor() &&
                                declared.element() != ir::ElementType::kUndefined &&
                                declared.element() != inferred.element();
    const auto declared_dims = declared.static_dims();
    const auto inferred_dims = inferred.static_dims();
    const OpSchema* schema = find_schema(operation.domain, operation.kind);
    const bool is_upper_bound = schema != nullptr && schema->has(kDataDependentShape);
    const bool dims_clash =
        !is_upper_bound && declared_dims && inferred_dims && *declared_dims != *inferred_dims;
    if (elements_clash || dims_clash) {
      const std::string clash =
          fmt::format("{}: output \"{}\" is declared as {} but computes {}", operation.describe(),
                      operand.name, declared.to_string(), inferred.to_string());
      if (elements_clash || stale_ == nullptr) return invalid_argument("{}", clash);
      stale_->push_back(clash);
    }
    if (is_told_by_declaration(declared, inferred)) return ok_status();
    const ir::Layout layout = declared.is_tensor() ? declared.layout() : ir::Layout::kRowMajor;
    operand.type = inferred.is_tensor() ? inferred.with_layout(layout) : inferred;
    return ok_status();
  }

  ir::Graph& graph_;
  std::vector<std::string>* stale_;
  SubgraphInference infer_subgraph_;
  int depth_ = 0;
  int num_calls_ = 0;
};

}  // namespace

Status infer_types(ir::Graph& graph, std::vector<std::string>* stale) {
  return GraphInference(graph, stale).run(ir::SubgraphId(std::size_t{0}));
}

}  // namespace sluice::ops
