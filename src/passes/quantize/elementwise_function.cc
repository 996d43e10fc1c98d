#include "passes/quantize/elementwise_function.h"

#include <algorithm>
#include <utility>

#include "passes/walk.h"

namespace sluice::passes {
namespace {

constexpr std::size_t kMaxOperations = 16;

class Reader {
 public:
  Reader(const Matcher& matcher, const std::function<bool(ir::OperandId)>& is_source,
         const std::function<bool(const ir::Operation&)>& is_step)
      : matcher_(matcher), is_source_(is_source), is_step_(is_step) {}

  /// Whether the operand depends on the source and constants alone.
  bool reach(ir::OperandId id) {
    if (const ir::Constant* constant = matcher_.subgraph().find_constant(id)) {
      const ir::Shape* shape = constant->type.shape();
      return shape != nullptr && ir::num_elements(*shape) == 1;
    }
    if (is_source_(id)) {
      if (!function_.source.is_valid()) function_.source = id;
      return function_.source == id;
    }
    const ir::OperationId at = matcher_.uses().producer(id);
    if (!at.is_valid()) return false;
    auto& operations = function_.operations;
    if (std::ranges::find(operations, at) != operations.end()) return true;
    const ir::Operation& operation = matcher_.subgraph().operation(at);
    if (!is_step_(operation) || !reach_inputs(operation)) return false;
    operations.push_back(at);
    return operations.size() <= kMaxOperations;
  }

  ElementwiseFunction& function() { return function_; }

 private:
  bool reach_inputs(const ir::Operation& operation) {
    if (++depth_ > kMaxOperations) return false;
    const bool is_reached = std::ranges::all_of(
        operation.inputs, [&](ir::OperandId id) { return !id.is_valid() || reach(id); });
    --depth_;
    return is_reached;
  }

  const Matcher& matcher_;
  const std::function<bool(ir::OperandId)>& is_source_;
  const std::function<bool(const ir::Operation&)>& is_step_;
  std::size_t depth_ = 0;
  ElementwiseFunction function_ = {};
};

}  // namespace

bool is_elementwise(const ir::Operation& operation) {
  return operation.outputs.size() == 1 && !operation.body &&
         has_trait(operation, ops::kElementwise) && !has_trait(operation, ops::kRandom);
}

std::optional<ElementwiseFunction> read_function(
    const Matcher& matcher, ir::OperandId id, const std::function<bool(ir::OperandId)>& is_source,
    const std::function<bool(const ir::Operation&)>& is_step) {
  Reader reader(matcher, is_source, is_step);
  const bool is_one = reader.reach(id) && reader.function().source.is_valid() &&
                      !reader.function().operations.empty();
  if (!is_one) return std::nullopt;
  return std::move(reader.function());
}

}  // namespace sluice::passes
