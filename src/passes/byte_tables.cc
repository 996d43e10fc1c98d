#include "passes/byte_tables.h"

#include <algorithm>
#include <map>
#include <utility>

#include "passes/quantization.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

using ir::ElementType;

constexpr std::size_t kMostOperations = 16;
constexpr std::int64_t kEntries = 256;

/// Operations between the bytes that a table reads and those that it gives, in an order in which
/// they can run.
struct Function {
  ir::OperandId bytes = {};
  std::vector<ir::OperationId> operations = {};
};

class FunctionReader {
 public:
  explicit FunctionReader(const Matcher& matcher) : matcher_(matcher) {}

  std::optional<Function> read(ir::OperationId quantize) {
    const ir::Operation& last = matcher_.subgraph().operation(quantize);
    if (!reach(last.input(0)) || !function_.bytes.is_valid()) return std::nullopt;
    function_.operations.push_back(quantize);
    return std::move(function_);
  }

 private:
  /// Whether it depends on nothing but the bytes.
  bool reach(ir::OperandId id) {
    const ir::Subgraph& subgraph = matcher_.subgraph();
    if (const ir::Constant* constant = subgraph.find_constant(id)) {
      return constant->type.shape() && ir::num_elements(*constant->type.shape()) == 1;
    }
    const ir::OperationId at = matcher_.uses().producer(id);
    if (!at.is_valid() || function_.operations.size() >= kMostOperations) return false;
    const bool is_known = std::ranges::find(function_.operations, at) != function_.operations.end();
    if (is_known) return true;
    const ir::Operation& operation = subgraph.operation(at);
    if (operation.outputs.size() != 1 || operation.body) return false;
    if (const auto from = dequantized_from(matcher_, id)) {
      if (function_.bytes.is_valid() && function_.bytes != from->bytes) return false;
      function_.bytes = from->bytes;
    } else if (!has_trait(operation, ops::kElementwise) || has_trait(operation, ops::kRandom) ||
               !reach_inputs(operation)) {
      return false;
    }
    function_.operations.push_back(at);
    return true;
  }

  bool reach_inputs(const ir::Operation& operation) {
    return std::ranges::all_of(operation.inputs,
                               [&](ir::OperandId id) { return !id.is_valid() || reach(id); });
  }

  const Matcher& matcher_;
  Function function_ = {};
};

/// All bytes, as a tensor of two dimensions: for a scale there may be an axis that must exist.
ir::Constant all_bytes() {
  std::vector<std::byte> bytes(kEntries);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  return {ir::Type::tensor(ElementType::kU8, ir::Shape{1, kEntries}), Bytes::own(std::move(bytes))};
}

/// Runs the function on all bytes. None where an operation cannot be computed.
std::optional<ir::Constant> compute(ir::Subgraph& subgraph, const Evaluator& evaluate,
                                    const Function& function) {
  std::map<ir::OperandId, ir::OperandId> values;
  values[function.bytes] = subgraph.add_constant("", all_bytes());
  std::optional<ir::Constant> last;
  for (const ir::OperationId at : function.operations) {
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
    values[original] = subgraph.add_constant("", *last);
  }
  return last;
}

}  // namespace

int tabulate_bytes(ir::Graph& graph, ir::Subgraph& subgraph, const PassContext& context,
                   ir::OperationId at) {
  const Matcher matcher(subgraph);
  const ir::OperandId result = subgraph.operation(at).output(0);
  if (!context.evaluate || !quantization_of(subgraph, subgraph.operation(at))) return 0;
  const auto function = FunctionReader(matcher).read(at);
  if (!function) return 0;
  const ir::Type from = subgraph.operand(function->bytes).type;
  const ir::Type to = subgraph.operand(result).type;
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
      function->bytes,
      subgraph.add_constant(
          "", {ir::Type::tensor(ElementType::kU8, ir::Shape{kEntries}), table->data})};
  operation.outputs = {result};
  if (!context.is_accepted(graph, subgraph, operation)) return 0;
  subgraph.operation(at) = std::move(operation);
  return 1;
}

}  // namespace sluice::passes
