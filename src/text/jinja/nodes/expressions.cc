#include "text/jinja/nodes/expressions.h"

#include "text/jinja/library/lookup.h"
#include "text/jinja/values/compare.h"
#include "text/jinja/values/print.h"

namespace sluice::text::jinja {
namespace {

/// Evaluates operands from left to right, as Jinja does. The order shows where an operand calls a
/// macro or changes a namespace.
Result<std::vector<Value>> evaluate_all(const std::vector<ExpressionPtr>& nodes, Render& render) {
  std::vector<Value> values;
  for (const ExpressionPtr& node : nodes) values.push_back(SLUICE_TRY(render.evaluate(*node)));
  return values;
}

/// An absent bound and the value none mean the same: `x[none:3]` is `x[:3]`. The caller picks the
/// default, which depends on the sign of the step.
Result<std::optional<std::int64_t>> bound_of(const ExpressionPtr& node, Render& render) {
  if (node == nullptr) return std::optional<std::int64_t>();
  const Value value = SLUICE_TRY(render.evaluate(*node));
  if (value.is_none()) return std::optional<std::int64_t>();
  if (value.whole()) return value.whole();
  return invalid_argument("a slice takes whole numbers, not {}", value.kind());
}

/// Equality and membership hold between values of any kinds. An order exists between numbers,
/// between texts and between lists alone; `order_of` refuses all other pairs.
Result<bool> compare(Comparison op, const Value& a, const Value& b, Work& work) {
  switch (op) {
    case Comparison::kEqual: return are_equal(a, b, work);
    case Comparison::kNotEqual: return !SLUICE_TRY(are_equal(a, b, work));
    case Comparison::kIn: return contains(b, a, work);
    case Comparison::kNotIn: return !SLUICE_TRY(contains(b, a, work));
    default: break;
  }
  const auto order = SLUICE_TRY(order_of(a, b, work));
  switch (op) {
    case Comparison::kLess: return order < 0;
    case Comparison::kLessEqual: return order <= 0;
    case Comparison::kGreater: return order > 0;
    default: return order >= 0;
  }
}

}  // namespace

Result<Arguments> ArgumentNodes::evaluate(Render& render) const {
  Arguments arguments;
  arguments.positional = SLUICE_TRY(evaluate_all(positional, render));
  for (const auto& [name, node] : named) {
    Value value = SLUICE_TRY(render.evaluate(*node));
    arguments.named.emplace_back(name, std::move(value));
  }
  return arguments;
}

Result<Value> Literal::evaluate(Render& /*render*/) const { return value; }

Result<Value> Name::evaluate(Render& render) const { return render.find(name); }

Result<Value> ListNode::evaluate(Render& render) const {
  auto values = SLUICE_TRY(evaluate_all(items, render));
  return make_list(std::move(values), render.work, is_tuple);
}

Result<Value> DictNode::evaluate(Render& render) const {
  std::vector<std::pair<Value, Value>> values;
  for (const auto& [key_node, value_node] : entries) {
    Value key = SLUICE_TRY(render.evaluate(*key_node));
    Value value = SLUICE_TRY(render.evaluate(*value_node));
    values.emplace_back(std::move(key), std::move(value));
  }
  return make_dict(values, render.work);
}

/// The attribute of an undefined value is an error, and so is an item of one: a chain such as
/// `message.tool.name` stops at its first absent link.
Result<Value> AttributeNode::evaluate(Render& render) const {
  const Value value = SLUICE_TRY(render.evaluate(*owner));
  return attribute_of(value, name, render.work);
}

Result<Value> ItemNode::evaluate(Render& render) const {
  const Value value = SLUICE_TRY(render.evaluate(*owner));
  const Value at = SLUICE_TRY(render.evaluate(*key));
  return item_of(value, at, render.work);
}

Result<Value> SliceNode::evaluate(Render& render) const {
  const Value value = SLUICE_TRY(render.evaluate(*owner));
  Slice slice;
  slice.start = SLUICE_TRY(bound_of(start, render));
  slice.stop = SLUICE_TRY(bound_of(stop, render));
  slice.step = SLUICE_TRY(bound_of(step, render)).value_or(1);
  return slice_of(value, slice, render.work);
}

Result<Value> CallNode::evaluate(Render& render) const {
  const Value function = SLUICE_TRY(render.evaluate(*callee));
  auto given = SLUICE_TRY(arguments.evaluate(render));
  // Evaluating the arguments moved the line on; a message of the call names the line of the call.
  render.line = line;
  SLUICE_TRY(check_defined(function, "the function"));
  Object* object = function.object();
  if (object == nullptr) return invalid_argument("a {} cannot be called", function.kind());
  Call call(object->kind(), std::move(given), render.work);
  return object->call(call);
}

Result<Value> FilterNode::evaluate(Render& render) const {
  const Value value = SLUICE_TRY(render.evaluate(*subject));
  auto given = SLUICE_TRY(arguments.evaluate(render));
  // As in CallNode: a message names the filter's line, not that of its last argument.
  render.line = line;
  Call call(filter.name, std::move(given), render.work);
  return invoke(filter.function, value, call);
}

Result<Value> BinaryNode::evaluate(Render& render) const {
  // Arithmetic reads both operands before it computes; only `and`, `or` and `if` skip one.
  const Value a = SLUICE_TRY(render.evaluate(*left));
  const Value b = SLUICE_TRY(render.evaluate(*right));
  return compute(op, a, b, render.work);
}

Result<Value> NegateNode::evaluate(Render& render) const {
  const Value value = SLUICE_TRY(render.evaluate(*operand));
  return negate(value);
}

Result<Value> NotNode::evaluate(Render& render) const {
  const Value value = SLUICE_TRY(render.evaluate(*operand));
  return Value(!value.is_true());
}

Result<Value> ConcatNode::evaluate(Render& render) const {
  std::string joined;
  for (const ExpressionPtr& part : parts) {
    const Value value = SLUICE_TRY(render.evaluate(*part));
    joined += SLUICE_TRY(to_text(value, render.work));
    // The size is checked per part, because a template of a few bytes can double a text in each
    // part. The budget is charged once, for the text that remains.
    SLUICE_TRY(Work::check_text(joined.size()));
  }
  SLUICE_TRY(render.work.spend_text(joined.size()));
  return Value(std::move(joined));
}

/// `a < b <= c` means `a < b and b <= c` with b evaluated once. The first comparison that fails
/// ends the chain, and the operands behind it are not evaluated.
Result<Value> CompareNode::evaluate(Render& render) const {
  Value left = SLUICE_TRY(render.evaluate(*first));
  for (const auto& [op, node] : others) {
    Value right = SLUICE_TRY(render.evaluate(*node));
    render.line = line;
    if (!SLUICE_TRY(compare(op, left, right, render.work))) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> LogicNode::evaluate(Render& render) const {
  Value value = SLUICE_TRY(render.evaluate(*left));
  // The result is an operand, not a truth value: `name or "user"` is a common default in templates.
  if (value.is_true() != is_and) return value;
  return render.evaluate(*right);
}

/// Evaluates one of the two branches. `x if c` without `else` is undefined where c is false, which
/// prints as an empty text.
Result<Value> ConditionalNode::evaluate(Render& render) const {
  const Value chosen = SLUICE_TRY(render.evaluate(*condition));
  if (chosen.is_true()) return render.evaluate(*value);
  if (otherwise == nullptr) return Value(Undefined{});
  return render.evaluate(*otherwise);
}

}  // namespace sluice::text::jinja
