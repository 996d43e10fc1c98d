// Numbers within bounds, as digits.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

#include "base/result.h"
#include "grammar/rules/expression.h"

namespace sluice::grammar {

/// A number as it is written, without exponent.
struct Decimal {
  bool is_negative = false;
  std::string whole = "0";  ///< digits, without zeros before them
  std::string fraction;     ///< digits, without zeros behind them

  /// Fails: kUnimplemented for a number of more than 18 digits on a side of the point.
  static Result<Decimal> read(const nlohmann::ordered_json& number);
  bool is_zero() const { return whole == "0" && fraction.empty(); }
};
/// Below 0: `a` is less.
int compare(const Decimal& a, const Decimal& b);

struct Bound {
  Decimal value;
  bool is_excluded = false;
};

/// Bounds that are absent are none.
struct NumberRange {
  std::optional<Bound> least;
  std::optional<Bound> most;

  bool is_all() const { return !least && !most; }
};

/// JSON numbers of the range, without exponents; whole ones have no point. One that has none fits
/// no text.
Expression number_in(const NumberRange& range, bool is_whole);

}  // namespace sluice::grammar
