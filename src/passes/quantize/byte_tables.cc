#include "passes/quantize/byte_tables.h"

#include <map>
#include <utility>

#include "passes/quantize/elementwise_function.h"
#include "passes/quantize/quantization.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

using ir::ElementType;

constexpr std::int64_t kEntries = 256;

/// The function of dequantized bytes whose result a QuantizeLinear rounds.
std::optional<ElementwiseFunction> function_of_bytes(const Matcher& matcher,
                                                     const ir::Operation& quantize) {
  const ir::Subgraph& subgraph = matcher.subgraph();
  const auto is_bytes = [&](ir::OperandId id) {
    const ir::Type& type = subgraph.operand(id).type;
    return type.is_tensor() && type.element() == ElementType::kU8;
  };
  const auto is_step = [&](const ir::Operation& operation) {
    return is_elementwise(operation) ||
           (operation.is("DequantizeLinear") && quantization_of(subgraph, operation).has_value());
  };
  return read_function(matcher, quantize.input(0), is_bytes, is_step);
}

/// All 256 byte values. Rank 2, because the axis of a per-axis scale must exist.
ir::Constant all_bytes() {
  std::vector<std::byte> bytes(kEntries);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  return {ir::Type::tensor(ElementType::kU8, ir::Shape{1, kEntries}), Bytes::own(std::move(bytes))};
}

/// Runs the function on all bytes. nullopt if an operation cannot be evaluated.
std::optional<ir::Constant> compute(ir::Subgraph& subgraph, const Evaluator& evaluate,
                                    const ElementwiseFunction& function) {
  std::map<ir::OperandId, ir::OperandId> values;
  values[function.source] = subgraph.add_constant("", all_bytes());
  std::optional<ir::Constant> last;
  for (const ir::OperationId at : function.operations) {
    // A copy: the original stays in the graph until the backend has accepted the table.
    ir::Operation operation = subgraph.operation(at);
    for (ir::OperandId& input : operation.inputs) {
      const auto value = values.find(input);
      if (value != values.end()) input = value->second;
    }
    const ir::OperandId original = operation.output(0);
    const auto element = subgraph.operand(original).type.element();
    operation.outputs = {add_operand(subgraph, ir::Type::tensor(element, ir::Shape{1, kEntries}))};
    auto results = evaluate(subgraph, operation);
    if (!results.is_ok() || results->size() != 1) return std::nullopt;
    last = std::move(results->front());
    // The next operation of the chain reads this result as a constant.
    values[original] = subgraph.add_constant("", *last);
  }
  return last;
}

}  // namespace

int tabulate_bytes(const ir::Graph& graph, Rewriter& rewriter, const PassContext& context,
                   ir::OperationId at) {
  ir::Subgraph& subgraph = rewriter.subgraph();
  const ir::OperandId result = subgraph.operation(at).output(0);
  if (!context.evaluate || !quantization_of(subgraph, subgraph.operation(at))) return 0;
  auto function = function_of_bytes(rewriter.matcher(), subgraph.operation(at));
  if (!function) return 0;
  function->operations.push_back(at);
  const ir::Type from = subgraph.operand(function->source).type;
  const ir::Type to = subgraph.operand(result).type;
  // One byte gives one byte, so shapes must agree: a broadcast would make the result larger.
  if (from.element() != ElementType::kU8 || to.element() != ElementType::kU8 || !from.shape() ||
      !to.shape() || *from.shape() != *to.shape()) {
    return 0;
  }
  const auto table = compute(subgraph, context.evaluate, *function);
  if (!table || table->type.element() != ElementType::kU8 || table->data.size() != kEntries) {
    return 0;
  }
  ir::Operation operation;
  operation.domain = "sluice";
  operation.kind = "ByteTable";
  operation.name = subgraph.operation(at).name;
  operation.inputs = {
      function->source,
      subgraph.add_constant(
          "", {ir::Type::tensor(ElementType::kU8, ir::Shape{kEntries}), table->data})};
  operation.outputs = {result};
  if (!context.is_accepted(graph, subgraph, operation)) return 0;
  rewriter.replace(at, std::move(operation));
  return 1;
}

}  // namespace sluice::passes
