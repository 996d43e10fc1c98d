// Operators on values, as Python has them. Numbers have 64 bits.
#pragma once

#include "text/jinja/values/value.h"

namespace sluice::text::jinja {

enum class Operator { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kRemainder, kPower };

/// `+` joins texts and lists, `*` repeats them, `%` fills in a text.
/// Fails: kInvalidArgument   for other kinds, a division by 0, or more than 64 bits
///        kResourceExhausted for too long a text or list
Result<Value> compute(Operator op, const Value& a, const Value& b, Work& work);

Result<Value> negate(const Value& value);

/// `text` with its %s, %d, %f, ... replaced by the values: one, or a list of them.
Result<std::string> fill_in(std::string_view text, const std::vector<Value>& values, Work& work);

}  // namespace sluice::text::jinja
