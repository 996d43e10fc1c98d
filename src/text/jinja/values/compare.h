// Which values are equal, less, or contained in another, as in Python.
#pragma once

#include <compare>

#include "base/result.h"
#include "text/jinja/values/value.h"

namespace sluice::text::jinja {

/// Values of different kinds are different; 1, 1.0 and true are equal.
/// Fails: kResourceExhausted for too much work.
Result<bool> are_equal(const Value& a, const Value& b, Work& work);

/// Fails: kInvalidArgument for kinds without an order, such as a text and a number.
Result<std::partial_ordering> order_of(const Value& a, const Value& b, Work& work);

/// `item in container`: a text in a text, an item in a list, a key in a dict.
/// Fails: kInvalidArgument for what contains nothing.
Result<bool> contains(const Value& container, const Value& item, Work& work);

}  // namespace sluice::text::jinja
