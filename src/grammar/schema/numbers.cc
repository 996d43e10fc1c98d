// Numbers of equal length compare digit by digit. So for each length the digits are a tree: as long
// as those before equal those of a bound, the bound limits the next one ("tight").
#include "grammar/schema/numbers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::grammar {
namespace {

constexpr std::size_t kMaxDigits = 18;
constexpr std::size_t kMostWhole = 16;
constexpr std::int64_t kMostFraction = 16;

Expression digits(char first, char last) {
  return one_of({{static_cast<char32_t>(first), static_cast<char32_t>(last)}});
}
Expression any_digits(std::int64_t least, std::int64_t most) {
  return repeat(digits('0', '9'), least, most);
}
Expression nothing() { return one_of({}); }

/// Magnitudes between two bounds, neither negative.
class Magnitudes {
 public:
  Magnitudes(Bound least, std::optional<Bound> most, bool is_whole)
      : least_(std::move(least)), most_(std::move(most)), is_whole_(is_whole) {}

  Expression write() {
    std::vector<Expression> parts;
    const std::size_t shortest = least_.value.whole.size();
    const std::size_t longest = most_ ? most_->value.whole.size() : shortest;
    for (length_ = shortest; length_ <= longest; ++length_) {
      parts.push_back(whole(0, {length_ == shortest, most_ && length_ == longest}));
    }
    if (!most_ && longest < kMostWhole) {
      parts.push_back(sequence({digits('1', '9'),
                                any_digits(static_cast<std::int64_t>(longest), kMostWhole - 1),
                                behind_whole({})}));
    }
    return parts.empty() ? nothing() : choice(std::move(parts));
  }

 private:
  struct Tight {
    bool least = false;
    bool most = false;
    bool any() const { return least || most; }
  };

  static char digit_of(const std::string& digits, std::size_t at) {
    return at < digits.size() ? digits[at] : '0';
  }

  /// A digit from `low` to `high`, and what follows it, which `next` says.
  template <typename Next>
  Expression step(char low, char high, Tight tight, const Next& next) {
    std::vector<Expression> parts;
    const auto add = [&](char first, char last, Tight then) {
      if (first <= last) parts.push_back(sequence({digits(first, last), next(then)}));
    };
    if (tight.least && tight.most && low == high) {
      add(low, low, tight);
    } else {
      if (tight.least) add(low, low, {true, false});
      add(static_cast<char>(low + (tight.least ? 1 : 0)),
          static_cast<char>(high - (tight.most ? 1 : 0)), {});
      if (tight.most && low <= high) add(high, high, {false, true});
    }
    return parts.empty() ? nothing() : choice(std::move(parts));
  }

  Expression whole(std::size_t at, Tight tight) {
    if (at == length_) return behind_whole(tight);
    const auto left = static_cast<std::int64_t>(length_ - at);
    if (!tight.any() && at > 0) return sequence({any_digits(left, left), behind_whole(tight)});
    const char first = at == 0 && length_ > 1 ? '1' : '0';
    const char low = tight.least ? least_.value.whole[at] : first;
    const char high = tight.most ? most_->value.whole[at] : '9';
    return step(low, high, tight, [&](Tight then) { return whole(at + 1, then); });
  }

  Expression behind_whole(Tight tight) {
    std::vector<Expression> parts;
    if (may_end(0, tight)) parts.push_back(literal(""));
    if (!is_whole_) parts.push_back(sequence({literal("."), fraction(0, tight)}));
    return parts.empty() ? nothing() : choice(std::move(parts));
  }

  /// Whether a number may end before the digit `at` of its fraction.
  bool may_end(std::size_t at, Tight tight) const {
    const bool is_enough =
        !tight.least || (at >= least_.value.fraction.size() && !least_.is_excluded);
    const bool is_most = tight.most && at >= most_->value.fraction.size();
    return is_enough && !(is_most && most_->is_excluded);
  }

  /// Digits from `at` on: at least one behind the point.
  Expression fraction(std::size_t at, Tight tight) {
    const std::int64_t must = at == 0 ? 1 : 0;
    if (!tight.any()) return any_digits(must, kMostFraction);
    const bool is_past = (!tight.least || at >= least_.value.fraction.size()) &&
                         (!tight.most || at >= most_->value.fraction.size());
    if (is_past) return zeros(at, tight, must);
    const char low = tight.least ? digit_of(least_.value.fraction, at) : '0';
    const char high = tight.most ? digit_of(most_->value.fraction, at) : '9';
    Expression more = step(low, high, tight, [&](Tight then) { return fraction(at + 1, then); });
    if (must == 1 || !may_end(at, tight)) return more;
    return choice({literal(""), std::move(more)});
  }

  /// Behind all digits of the bounds.
  Expression zeros(std::size_t at, Tight tight, std::int64_t must) {
    std::vector<Expression> parts;
    const Expression zero = digits('0', '0');
    if (may_end(at, tight)) parts.push_back(repeat(zero, must, kMostFraction));
    if (!tight.most) {
      parts.push_back(sequence(
          {repeat(zero, 0, kMostFraction), digits('1', '9'), any_digits(0, kMostFraction)}));
    }
    return parts.empty() ? nothing() : choice(std::move(parts));
  }

  const Bound least_;
  const std::optional<Bound> most_;
  const bool is_whole_;
  std::size_t length_ = 0;  ///< of the digits before the point
};

Bound magnitude_of(Bound bound) {
  bound.value.is_negative = false;
  return bound;
}

}  // namespace

Result<Decimal> Decimal::read(const nlohmann::ordered_json& number) {
  std::string text = number.dump();
  Decimal made;
  made.is_negative = text.starts_with('-');
  if (made.is_negative) text.erase(0, 1);
  const std::size_t point = std::min(text.find('.'), text.size());
  made.whole = text.substr(0, point);
  if (point < text.size()) made.fraction = text.substr(point + 1);
  while (made.fraction.ends_with('0')) made.fraction.pop_back();
  const bool has_exponent = text.find_first_of("eE") != std::string::npos;
  if (has_exponent || made.whole.size() > kMaxDigits || made.fraction.size() > kMaxDigits) {
    return unimplemented("bounds of more than {} digits are not supported", kMaxDigits);
  }
  if (made.is_zero()) made.is_negative = false;
  return made;
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.is_negative != b.is_negative) return a.is_negative ? -1 : 1;
  const int sign = a.is_negative ? -1 : 1;
  if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size() ? -sign : sign;
  const int whole = a.whole.compare(b.whole);
  return sign * (whole != 0 ? whole : a.fraction.compare(b.fraction));
}

Expression number_in(const NumberRange& range, bool is_whole) {
  std::vector<Expression> parts;
  const auto& [least, most] = range;
  if (!most || !most->value.is_negative) {
    const Bound from = least && !least->value.is_negative ? *least : Bound{};
    parts.push_back(Magnitudes(from, most, is_whole).write());
  }
  if (!least || least->value.is_negative) {
    const Bound from =
        most && most->value.is_negative ? magnitude_of(*most) : Bound{{}, /*is_excluded=*/true};
    const auto to = least ? std::optional(magnitude_of(*least)) : std::nullopt;
    parts.push_back(sequence({literal("-"), Magnitudes(from, to, is_whole).write()}));
  }
  return parts.empty() ? nothing() : choice(std::move(parts));
}

}  // namespace sluice::grammar
