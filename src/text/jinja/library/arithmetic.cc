#include "text/jinja/library/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice::text::jinja {
namespace {

/// In the order of Operator, which indexes them.
constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};

Status wrong_kinds(Operator op, const Value& a, const Value& b) {
  const auto place = static_cast<std::size_t>(op);
  SLUICE_TRY(check_defined(a));
  SLUICE_TRY(check_defined(b));
  return invalid_argument("{} {} {} has no meaning", a.kind(), kSigns[place], b.kind());
}

/// Exact, or an error: Python's whole numbers have no end.
Result<std::int64_t> power(std::int64_t base, std::int64_t exponent) {
  // Overflow ends the loop within 63 turns unless the base is 0, 1 or -1: those are handled first.
  std::int64_t product = 1;
  for (std::int64_t i = 0; i < exponent && product != 0; ++i) {
    if (base == 1) return std::int64_t{1};
    if (base == -1) return std::int64_t{exponent % 2 == 0 ? 1 : -1};
    if (__builtin_mul_overflow(product, base, &product)) {
      return invalid_argument("a number has more than 64 bits");
    }
  }
  return product;
}

Result<Value> compute_whole(Operator op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool is_too_large = false;
  switch (op) {
    case Operator::kAdd: is_too_large = __builtin_add_overflow(a, b, &result); break;
    case Operator::kSubtract: is_too_large = __builtin_sub_overflow(a, b, &result); break;
    case Operator::kMultiply: is_too_large = __builtin_mul_overflow(a, b, &result); break;
    case Operator::kPower: result = SLUICE_TRY(power(a, b)); break;
    default:
      // The one quotient that has no place; its remainder traps, too.
      is_too_large = a == INT64_MIN && b == -1;
      if (is_too_large) break;
      // Python rounds a quotient down and gives a remainder the sign of its divisor; C++ truncates.
      // The two differ where the signs differ and the division leaves a rest.
      result = op == Operator::kRemainder ? a % b : a / b;
      if (a % b != 0 && (a < 0) != (b < 0)) result += op == Operator::kRemainder ? b : -1;
  }
  if (is_too_large) return invalid_argument("a number has more than 64 bits");
  return Value(result);
}

/// Division by 0 was refused before. Overflow gives infinity, where Python raises an error for
/// powers alone.
Result<Value> compute_float(Operator op, double a, double b) {
  switch (op) {
    case Operator::kAdd: return Value(a + b);
    case Operator::kSubtract: return Value(a - b);
    case Operator::kMultiply: return Value(a * b);
    case Operator::kDivide: return Value(a / b);
    case Operator::kFloorDivide: return Value(std::floor(a / b));
    case Operator::kPower: return Value(std::pow(a, b));
    case Operator::kRemainder: break;
  }
  // The sign is the divisor's, as for whole numbers.
  const double remainder = std::fmod(a, b);
  return Value(remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder);
}

Result<Value> repeat(const Value& value, std::int64_t count, Work& work) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  if (const auto* text = value.text()) {
    // The first line bounds `times`, so that the product in the second cannot overflow.
    SLUICE_TRY(work.spend_text(text->empty() ? 0 : std::min(times, Work::kMaxUnits)));
    SLUICE_TRY(work.spend_text(text->size() * (text->empty() ? 0 : times)));
    std::string repeated;
    for (std::size_t i = 0; i < times && !text->empty(); ++i) repeated += *text;
    return Value(std::move(repeated));
  }
  const auto& items = value.list()->items;
  std::vector<Value> repeated;
  for (std::size_t i = 0; i < times && !items.empty(); ++i) {
    // Spent before each copy: the budget, not memory, ends a list that is multiplied by a huge
    // number.
    SLUICE_TRY(work.spend(Work::kElementUnits * items.size()));
    repeated.insert(repeated.end(), items.begin(), items.end());
  }
  return make_list(std::move(repeated), work, value.list()->is_tuple);
}

Result<Value> concatenate(const Value& a, const Value& b, Work& work) {
  if (a.text() != nullptr) {
    SLUICE_TRY(work.spend_text(a.text()->size() + b.text()->size()));
    return Value(*a.text() + *b.text());
  }
  std::vector<Value> items = a.list()->items;
  items.insert(items.end(), b.list()->items.begin(), b.list()->items.end());
  return make_list(std::move(items), work, a.list()->is_tuple);
}

bool is_repeatable(const Value& value) {
  return value.text() != nullptr || value.list() != nullptr;
}

}  // namespace

Result<Value> compute(Operator op, const Value& a, const Value& b, Work& work) {
  const auto number_a = a.number();
  const auto number_b = b.number();
  if (number_a && number_b) {
    const bool divides =
        op == Operator::kDivide || op == Operator::kFloorDivide || op == Operator::kRemainder;
    if (divides && *number_b == 0) return invalid_argument("a division by 0");
    const auto whole_a = a.whole();
    const auto whole_b = b.whole();
    // A power with a negative exponent is a fraction, and `/` always gives a float.
    const bool is_whole =
        whole_a && whole_b && op != Operator::kDivide && (op != Operator::kPower || *whole_b >= 0);
    return is_whole ? compute_whole(op, *whole_a, *whole_b)
                    : compute_float(op, *number_a, *number_b);
  }
  if (op == Operator::kAdd) {
    // Lists and tuples do not mix, as in Python.
    const bool are_lists =
        a.list() != nullptr && b.list() != nullptr && a.list()->is_tuple == b.list()->is_tuple;
    if (are_lists || (a.text() != nullptr && b.text() != nullptr)) return concatenate(a, b, work);
  }
  if (op == Operator::kMultiply && is_repeatable(a) && b.whole())
    return repeat(a, *b.whole(), work);
  if (op == Operator::kMultiply && is_repeatable(b) && a.whole())
    return repeat(b, *a.whole(), work);
  if (op == Operator::kRemainder && a.text() != nullptr) {
    // Python's `text % value`: a tuple fills several places, any other value one.
    const bool is_tuple = b.list() != nullptr && b.list()->is_tuple;
    return Value(
        SLUICE_TRY(fill_in(*a.text(), is_tuple ? b.list()->items : std::vector<Value>{b}, work)));
  }
  return wrong_kinds(op, a, b);
}

Result<Value> negate(const Value& value) {
  // A float is negated, not subtracted from 0, so that -0.0 keeps its sign. The subtraction finds
  // the overflow of the smallest whole number.
  if (value.is_float()) return Value(-*value.number());
  if (const auto whole = value.whole()) return compute_whole(Operator::kSubtract, 0, *whole);
  return invalid_argument("-{} has no meaning", value.kind());
}

}  // namespace sluice::text::jinja
