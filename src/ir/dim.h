// One dimension: a number, or an expression in named symbols.
//
// The same arithmetic serves shape functions at compile time (symbols) and at run time (numbers).
// Expressions are kept in a canonical form, a sum of products, so that equal ones compare equal:
// (N+1)*2 == 2*N+2. An overflow gives `Dim::overflow()`, which stays an overflow in further
// arithmetic.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::ir {

struct DimExpression;

/// Value type, cheap to copy, immutable; safe across threads.
class Dim {
 public:
  Dim() = default;
  Dim(std::int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)

  /// A named unknown, e.g. "N". Requires: a letter or '_' followed by letters, digits, '_', '.'.
  static Dim symbol(std::string_view name);
  static Dim overflow() { return Dim(std::numeric_limits<std::int64_t>::min()); }

  bool is_known() const { return expression_ == nullptr; }
  bool is_overflow() const { return is_known() && value_ == overflow().value_; }
  /// Requires: is_known().
  std::int64_t value() const { return value_; }
  bool is(std::int64_t value) const { return is_known() && value_ == value; }

  /// Replaces symbols by the values of `lookup`; unknown symbols stay.
  using Lookup = std::function<std::optional<Dim>(std::string_view symbol)>;
  Dim substitute(const Lookup& lookup) const;

  /// "4", "N", "2*N+2", "floordiv(N+1,2)". `parse_dim` reads it back.
  std::string to_string() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  /// Rounds towards minus infinity. Division by zero gives overflow().
  friend Dim floor_div(const Dim& a, const Dim& b);
  friend Dim ceil_div(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);

 private:
  friend struct DimExpression;
  explicit Dim(std::shared_ptr<const DimExpression> expression)
      : expression_(std::move(expression)) {}

  std::int64_t value_ = 0;
  std::shared_ptr<const DimExpression> expression_;  // null: value_ is all
};

/// Whether two dimensions can be equal in some run, as far as numbers tell.
inline bool may_be_equal(const Dim& a, const Dim& b) {
  return !a.is_known() || !b.is_known() || a == b;
}

Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);

/// Fails: kInvalidArgument with the offending text; nesting deeper than 32 is refused.
Result<Dim> parse_dim(std::string_view text);

}  // namespace sluice::ir
