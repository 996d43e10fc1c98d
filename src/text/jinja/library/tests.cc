#include <compare>
#include <cstdint>

#include "text/jinja/library/filters.h"
#include "text/jinja/library/methods.h"
#include "text/jinja/values/compare.h"

namespace sluice::text::jinja {
namespace {

/// Kinds as Jinja's tests see them. A truth value is a number, and whole() gives 0 or 1, but
/// `integer` says no to it.
bool is_number(const Value& value) { return value.number().has_value(); }
bool is_integer(const Value& value) { return value.whole().has_value() && !value.is_bool(); }
bool is_text(const Value& value) { return value.text() != nullptr; }
bool is_mapping(const Value& value) { return value.dict() != nullptr; }
/// What is undefined has no elements, and as such a length, and a loop goes over it: not at all.
bool is_sequence(const Value& value) {
  return value.text() != nullptr || value.list() != nullptr || value.dict() != nullptr ||
         value.is_undefined();
}
bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_bool(const Value& value) { return value.is_bool(); }
bool is_float(const Value& value) { return value.is_float(); }
bool is_true(const Value& value) { return value.is_bool() && value.is_true(); }
bool is_false(const Value& value) { return value.is_bool() && !value.is_true(); }
bool is_callable(const Value& value) {
  return value.object() != nullptr && value.object()->is_callable();
}

template <bool (*is)(const Value&)>
Result<Value> kind(const Value& value, Call& /*call*/) {
  return Value(is(value));
}

template <bool is_wanted>
Result<Value> equal(const Value& value, Call& call) {
  const Value other = SLUICE_TRY(call.value("other"));
  return Value(SLUICE_TRY(are_equal(value, other, call.work)) == is_wanted);
}

template <bool (*fits)(std::partial_ordering)>
Result<Value> ordered(const Value& value, Call& call) {
  const Value other = SLUICE_TRY(call.value("other"));
  return Value(fits(SLUICE_TRY(order_of(value, other, call.work))));
}

Result<Value> in(const Value& value, Call& call) {
  const Value container = SLUICE_TRY(call.value("seq"));
  return Value(SLUICE_TRY(contains(container, value, call.work)));
}

/// The same object: for what has none, the same kind and value.
Result<Value> same(const Value& value, Call& call) {
  const Value other = SLUICE_TRY(call.value("other"));
  if (value.variant().index() != other.variant().index()) return Value(false);
  return Value(SLUICE_TRY(are_equal(value, other, call.work)));
}

Result<Value> divisible(const Value& value, Call& call) {
  const auto divisor = SLUICE_TRY(call.whole_or("num", 0));
  const auto number = value.whole();
  // INT64_MIN % -1 traps on x86, as its quotient has no place; -1 divides every number.
  if (!number || divisor == 0) return call.error("takes whole numbers, and none divides by 0");
  return Value(divisor == -1 || *number % divisor == 0);
}

template <std::int64_t rest>
Result<Value> parity(const Value& value, Call& call) {
  const auto number = value.whole();
  if (!number) return call.error("takes a whole number");
  return Value((*number % 2 != 0) == (rest != 0));
}

Result<Value> is_lower(const Value& value, Call& call) {
  if (value.text() == nullptr) return Value(false);
  // One definition of case for tests and methods; tests of other kinds than text answer false.
  return find_text_method("islower")->function(value, call);
}

Result<Value> is_upper(const Value& value, Call& call) {
  if (value.text() == nullptr) return Value(false);
  return find_text_method("isupper")->function(value, call);
}

/// Operators are names here, as in Jinja, for `select("==", 1)`.
constexpr NamedFunction kTests[] = {
    {"!=", equal<false>},
    {"<", ordered<std::is_lt>},
    {"<=", ordered<std::is_lteq>},
    {"==", equal<true>},
    {">", ordered<std::is_gt>},
    {">=", ordered<std::is_gteq>},
    {"boolean", kind<is_bool>},
    {"callable", kind<is_callable>},
    {"defined", kind<is_defined>},
    {"divisibleby", divisible},
    {"eq", equal<true>},
    {"equalto", equal<true>},
    {"even", parity<0>},
    {"false", kind<is_false>},
    {"float", kind<is_float>},
    {"ge", ordered<std::is_gteq>},
    {"greaterthan", ordered<std::is_gt>},
    {"gt", ordered<std::is_gt>},
    {"in", in},
    {"integer", kind<is_integer>},
    {"iterable", kind<is_sequence>},
    {"le", ordered<std::is_lteq>},
    {"lessthan", ordered<std::is_lt>},
    {"lower", is_lower},
    {"lt", ordered<std::is_lt>},
    {"mapping", kind<is_mapping>},
    {"ne", equal<false>},
    {"none", kind<is_none>},
    {"number", kind<is_number>},
    {"odd", parity<1>},
    {"sameas", same},
    {"sequence", kind<is_sequence>},
    {"string", kind<is_text>},
    {"true", kind<is_true>},
    {"undefined", kind<is_undefined>},
    {"upper", is_upper},
};

}  // namespace

const NamedFunction* find_test(std::string_view name) { return find_function(kTests, name); }

}  // namespace sluice::text::jinja
