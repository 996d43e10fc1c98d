#include "ir/dim.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "ir/broadcast_dim.h"
#include "ir/dim_facts.h"

namespace sluice::ir {

// Members of DimExpression need linkage, because DimExpression itself has it.
enum class AtomKind { kSymbol, kFloorDiv, kCeilDiv, kMax, kMin, kBroadcast };

/// A symbol, or a function that the sum of products cannot look into.
struct Atom {
  AtomKind kind = AtomKind::kSymbol;
  std::string text;       // canonical; what atoms are ordered and compared by
  std::vector<Dim> args;  // of a function: two

  // By text alone: equal texts are equal atoms, because the text is canonical.
  bool operator<(const Atom& other) const { return text < other.text; }
};

using Monomial = std::vector<Atom>;  // sorted; empty for the constant term

namespace {

/// In the order of AtomKind. The names are part of the text form of a graph.
constexpr std::array<std::string_view, 6> kFunctionNames = {"",    "floordiv", "ceildiv",
                                                            "max", "min",      "broadcast"};

// Hostile graphs must not grow expressions without end; what passes a bound becomes unnamed.
constexpr std::size_t kMaxTerms = 64;
constexpr std::size_t kMaxFunctionText = 1024;

constexpr std::string_view kUnnamed = "?";  // no symbol: DimParser reads no such name

Dim unnamed(bool may_be_negative);

}  // namespace

struct DimExpression {
  std::map<Monomial, std::int64_t> terms;  // coefficients are never 0

  static DimExpression of(const Dim& dim) {
    if (!dim.is_known()) return *dim.expression_;
    DimExpression sum;
    if (dim.value() != 0) sum.terms[{}] = dim.value();
    return sum;
  }

  static bool may_be_negative(const DimExpression& sum) {
    return std::ranges::any_of(sum.terms, [](const auto& term) {
      return term.second < 0 || std::ranges::any_of(term.first, [](const Atom& atom) {
               // Conservative: a minus anywhere within a function's text counts, although the whole
               // may be positive.
               return atom.text.find('-') != std::string::npos;
             });
    });
  }

  static bool is_unnamed(const Dim& dim) {
    if (dim.is_known() || dim.expression_->terms.size() != 1) return false;
    const Monomial& monomial = dim.expression_->terms.begin()->first;
    return monomial.size() == 1 && monomial.front().text == kUnnamed;
  }

  // Every result passes here: equal expressions have equal forms, so == compares meaning for sums
  // of products.
  static Dim finish(DimExpression sum) {
    std::erase_if(sum.terms, [](const auto& term) { return term.second == 0; });
    if (sum.terms.empty()) return Dim(0);
    if (sum.terms.size() == 1 && sum.terms.begin()->first.empty()) {
      return Dim(sum.terms.begin()->second);
    }
    // An unnamed dimension equals none, not even itself: two that were dropped need not be the
    // same.
    if (sum.terms.size() > kMaxTerms) return unnamed(may_be_negative(sum));
    return Dim(std::make_shared<const DimExpression>(std::move(sum)));
  }

  /// Adds the dimensions that were broadcast to get `dim`, or `dim` itself, by their text.
  static void add_parts(const Dim& dim, std::map<std::string, Dim>& parts) {
    if (!dim.is_known() && dim.expression_->terms.size() == 1) {
      const auto& [monomial, coefficient] = *dim.expression_->terms.begin();
      if (coefficient == 1 && monomial.size() == 1 &&
          monomial.front().kind == AtomKind::kBroadcast) {
        for (const Dim& part : monomial.front().args) add_parts(part, parts);
        return;
      }
    }
    // Sorted by text, so that broadcast(a, b) and broadcast(b, a) have one form.
    parts.emplace(dim.to_string(), dim);
  }

  static Dim of_atom(Atom atom) {
    DimExpression sum;
    sum.terms[{std::move(atom)}] = 1;
    return finish(std::move(sum));
  }
};

namespace {

/// "?", or "-?" if the expression may be negative.
Dim unnamed(bool may_be_negative) {
  DimExpression sum;
  sum.terms[{Atom{AtomKind::kSymbol, std::string(kUnnamed), {}}}] = may_be_negative ? -1 : 1;
  return DimExpression::finish(std::move(sum));
}

/// What arithmetic cannot go into: a result of `a` and `b` that is an overflow or unnamed.
std::optional<Dim> absorbed(const Dim& a, const Dim& b) {
  if (a.is_overflow() || b.is_overflow()) return Dim::overflow();
  if (!is_unnamed(a) && !is_unnamed(b)) return std::nullopt;
  return unnamed(!is_never_negative(a) || !is_never_negative(b));
}

Dim apply(AtomKind kind, const Dim& a, const Dim& b) {
  switch (kind) {
    // By the public functions, which fold what has become known since the atom was made.
    case AtomKind::kFloorDiv: return floor_div(a, b);
    case AtomKind::kCeilDiv: return ceil_div(a, b);
    case AtomKind::kMax: return max(a, b);
    case AtomKind::kMin: return min(a, b);
    case AtomKind::kBroadcast: return broadcast(a, b);
    case AtomKind::kSymbol: break;
  }
  return Dim::overflow();
}

Dim function(AtomKind kind, const Dim& a, const Dim& b) {
  std::string text = std::string(kFunctionNames[static_cast<std::size_t>(kind)]) + "(" +
                     a.to_string() + "," + b.to_string() + ")";
  // Nested functions may double their text with each level.
  if (text.size() > kMaxFunctionText) {
    return unnamed(!is_never_negative(a) || !is_never_negative(b));
  }
  return DimExpression::of_atom(Atom{kind, std::move(text), {a, b}});
}

std::int64_t floor_of(std::int64_t a, std::int64_t b) {
  // C++ rounds towards zero; floor differs where the signs differ and a rest is left.
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

bool divides_badly(std::int64_t a, std::int64_t b) {
  return b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min());
}

/// a / b where every coefficient of a is a multiple of the number b.
std::optional<Dim> exact_quotient(const Dim& a, const Dim& b) {
  // For symbols the quotient would need a proof that it is whole for every value.
  if (!b.is_known() || b.value() <= 0) return std::nullopt;
  DimExpression sum = DimExpression::of(a);
  for (auto& [monomial, coefficient] : sum.terms) {
    if (coefficient % b.value() != 0) return std::nullopt;
    coefficient /= b.value();
  }
  return DimExpression::finish(std::move(sum));
}

std::string monomial_text(const Monomial& monomial, std::int64_t coefficient) {
  std::string text;
  if (monomial.empty() || (coefficient != 1 && coefficient != -1)) {
    text = std::to_string(coefficient);
  } else if (coefficient == -1) {
    text = "-";
  }
  for (const Atom& atom : monomial) {
    if (!text.empty() && text != "-") text += "*";
    text += atom.text;
  }
  return text;
}

}  // namespace

bool is_unnamed(const Dim& dim) { return DimExpression::is_unnamed(dim); }

bool is_dim_function(std::string_view name) {
  return std::find(kFunctionNames.begin() + 1, kFunctionNames.end(), name) != kFunctionNames.end();
}

bool is_never_negative(const Dim& dim) {
  if (dim.is_known()) return dim.value() >= 0;
  return !DimExpression::may_be_negative(DimExpression::of(dim));
}

Dim Dim::symbol(std::string_view name) {
  return DimExpression::of_atom(Atom{AtomKind::kSymbol, std::string(name), {}});
}

std::string Dim::to_string() const {
  if (is_overflow()) return "overflow";
  if (is_known()) return std::to_string(value_);
  std::string text;
  std::string constant;
  for (const auto& [monomial, coefficient] : expression_->terms) {
    std::string term = monomial_text(monomial, coefficient);
    // The constant stands last: "N+1", not "1+N".
    std::string& target = monomial.empty() ? constant : text;
    if (!target.empty() && term.front() != '-') target += "+";
    target += term;
  }
  if (!constant.empty() && constant.front() != '-') text += "+";
  return text + constant;
}

Dim Dim::substitute(const Lookup& lookup) const {
  if (is_known() || is_unnamed(*this)) return *this;
  Dim total(0);
  for (const auto& [monomial, coefficient] : expression_->terms) {
    Dim product(coefficient);
    for (const Atom& atom : monomial) {
      if (atom.kind == AtomKind::kSymbol) {
        product = product * lookup(atom.text).value_or(Dim::symbol(atom.text));
      } else {
        product = product * apply(atom.kind, atom.args[0].substitute(lookup),
                                  atom.args[1].substitute(lookup));
      }
    }
    total = total + product;
  }
  return total;
}

Dim operator+(const Dim& a, const Dim& b) {
  // Overflows and unnamed dimensions swallow whatever meets them.
  if (const auto result = absorbed(a, b)) return *result;
  if (a.is_known() && b.is_known()) {
    const auto sum = checked_add(a.value(), b.value());
    return sum ? Dim(*sum) : Dim::overflow();
  }
  DimExpression sum = DimExpression::of(a);
  for (const auto& [monomial, coefficient] : DimExpression::of(b).terms) {
    const auto total = checked_add(sum.terms[monomial], coefficient);
    if (!total) return Dim::overflow();
    sum.terms[monomial] = *total;
  }
  return DimExpression::finish(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (const auto result = absorbed(a, b)) return *result;
  if (a.is_known() && b.is_known()) {
    const auto product = checked_mul(a.value(), b.value());
    return product ? Dim(*product) : Dim::overflow();
  }
  const DimExpression left = DimExpression::of(a);
  const DimExpression right = DimExpression::of(b);
  const bool may_be_negative = !is_never_negative(a) || !is_never_negative(b);
  // Checked before the product is built, which would have that many terms.
  if (left.terms.size() * right.terms.size() > kMaxTerms) return unnamed(may_be_negative);
  DimExpression sum;
  for (const auto& [left_monomial, left_coefficient] : left.terms) {
    for (const auto& [right_monomial, right_coefficient] : right.terms) {
      Monomial monomial = left_monomial;
      monomial.insert(monomial.end(), right_monomial.begin(), right_monomial.end());
      if (monomial.size() > kMaxTerms) return unnamed(may_be_negative);
      std::sort(monomial.begin(), monomial.end());
      const auto product = checked_mul(left_coefficient, right_coefficient);
      if (!product) return Dim::overflow();
      const auto total = checked_add(sum.terms[monomial], *product);
      if (!total) return Dim::overflow();
      sum.terms[monomial] = *total;
    }
  }
  return DimExpression::finish(std::move(sum));
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b.is(0)) return Dim::overflow();
  if (const auto result = absorbed(a, b)) return *result;
  if (a.is_known() && b.is_known()) {
    if (divides_badly(a.value(), b.value())) return Dim::overflow();
    return Dim(floor_of(a.value(), b.value()));
  }
  if (a == b) return Dim(1);
  if (auto quotient = exact_quotient(a, b)) return *quotient;
  return function(AtomKind::kFloorDiv, a, b);
}

Dim ceil_div(const Dim& a, const Dim& b) {
  if (b.is(0)) return Dim::overflow();
  if (const auto result = absorbed(a, b)) return *result;
  if (a.is_known() && b.is_known()) {
    if (divides_badly(a.value(), b.value())) return Dim::overflow();
    // ceil(a / b) = -floor(-a / b).
    return Dim(-floor_of(-a.value(), b.value()));
  }
  if (a == b) return Dim(1);
  if (auto quotient = exact_quotient(a, b)) return *quotient;
  return function(AtomKind::kCeilDiv, a, b);
}

Dim max(const Dim& a, const Dim& b) {
  if (const auto result = absorbed(a, b)) return *result;
  if (a.is_known() && b.is_known()) return Dim(std::max(a.value(), b.value()));
  return a == b ? a : function(AtomKind::kMax, a, b);
}

Dim min(const Dim& a, const Dim& b) {
  if (const auto result = absorbed(a, b)) return *result;
  if (a.is_known() && b.is_known()) return Dim(std::min(a.value(), b.value()));
  return a == b ? a : function(AtomKind::kMin, a, b);
}

Dim broadcast(const Dim& a, const Dim& b) {
  if (b.is(1)) return a;
  if (a.is(1)) return b;
  if (const auto result = absorbed(a, b)) return *result;
  // Two different numbers do not broadcast; an overflow makes the caller report the shapes.
  if (a.is_known() && b.is_known()) return a == b ? a : Dim::overflow();
  // A number other than 1 decides: the symbol must be equal to it or 1 at run time.
  if (a.is_known()) return a;
  if (b.is_known()) return b;
  std::map<std::string, Dim> parts;
  DimExpression::add_parts(a, parts);
  DimExpression::add_parts(b, parts);
  Dim result = parts.begin()->second;
  for (auto it = std::next(parts.begin()); it != parts.end() && !is_unnamed(result); ++it) {
    result = function(AtomKind::kBroadcast, result, it->second);
  }
  return result;
}

bool broadcasts_into(const Dim& part, const Dim& whole) { return broadcast(part, whole) == whole; }

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_known() != b.is_known()) return false;
  if (a.is_known()) return a.value_ == b.value_;
  // Before the comparison of texts, which are equal for all unnamed dimensions.
  if (is_unnamed(a) || is_unnamed(b)) return false;
  return a.expression_ == b.expression_ || a.to_string() == b.to_string();
}

namespace {

/// Recursive descent over: sum := term (('+'|'-') term)*; term := factor ('*' factor)*.
class DimParser {
 public:
  explicit DimParser(std::string_view text) : rest_(text) {}

  Result<Dim> parse() {
    Dim dim = SLUICE_TRY(sum(0));
    skip_spaces();
    if (!rest_.empty()) return error();
    return dim;
  }

 private:
  // Bounds the stack: dimensions come from files.
  static constexpr int kMaxDepth = 32;

  Status error() const { return invalid_argument("cannot read a dimension at \"{}\"", rest_); }

  void skip_spaces() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  bool take(char wanted) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  Result<Dim> sum(int depth) {
    Dim total = SLUICE_TRY(term(depth));
    while (true) {
      if (take('+')) {
        total = total + SLUICE_TRY(term(depth));
      } else if (take('-')) {
        total = total - SLUICE_TRY(term(depth));
      } else {
        return total;
      }
    }
  }

  Result<Dim> term(int depth) {
    Dim product = SLUICE_TRY(factor(depth));
    while (take('*')) product = product * SLUICE_TRY(factor(depth));
    return product;
  }

  Result<Dim> factor(int depth) {
    if (depth > kMaxDepth) return invalid_argument("a dimension is nested too deeply");
    if (take('-')) return Dim(-1) * SLUICE_TRY(factor(depth + 1));
    skip_spaces();
    if (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') return number();
    const std::string_view name = word();
    if (name.empty()) return error();
    const auto* found = std::find(kFunctionNames.begin() + 1, kFunctionNames.end(), name);
    if (found == kFunctionNames.end()) return Dim::symbol(name);
    return call(static_cast<AtomKind>(found - kFunctionNames.begin()), depth);
  }

  Result<Dim> call(AtomKind kind, int depth) {
    if (!take('(')) return error();
    const Dim a = SLUICE_TRY(sum(depth + 1));
    if (!take(',')) return error();
    const Dim b = SLUICE_TRY(sum(depth + 1));
    if (!take(')')) return error();
    return apply(kind, a, b);
  }

  Result<Dim> number() {
    std::int64_t value = 0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      const auto scaled = checked_mul(value, 10);
      const auto next = scaled ? checked_add(*scaled, rest_.front() - '0') : std::nullopt;
      if (!next) return invalid_argument("a dimension does not fit 64 bits");
      value = *next;
      rest_.remove_prefix(1);
    }
    return Dim(value);
  }

  std::string_view word() {
    std::size_t length = 0;
    while (length < rest_.size() && is_word_character(rest_[length], length == 0)) ++length;
    const std::string_view name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return name;
  }

  static bool is_word_character(char c, bool first) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return letter || (!first && ((c >= '0' && c <= '9') || c == '.'));
  }

  std::string_view rest_;
};

}  // namespace

Result<Dim> parse_dim(std::string_view text) {
  Dim dim = SLUICE_TRY(DimParser(text).parse());
  if (is_unnamed(dim)) {
    return invalid_argument(
        "a dimension of more than {} terms, or of a function of more than {} "
        "characters; give it a name of its own",
        kMaxTerms, kMaxFunctionText);
  }
  return dim;
}

}  // namespace sluice::ir
