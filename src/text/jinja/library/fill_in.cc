#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/library/arithmetic.h"
#include "text/jinja/values/print.h"

namespace sluice::text::jinja {
namespace {

constexpr std::size_t kMaxWidth = 1000;

/// "%-5.2f": what stands between the sign and the letter.
struct Directive {
  bool is_left = false;
  bool has_zeros = false;
  std::size_t width = 0;
  std::optional<int> precision;
  char letter = 0;
};

/// Moves `at` behind the directive.
Result<Directive> read_directive(std::string_view text, std::size_t& at) {
  Directive directive;
  const auto is_digit = [&] { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  const auto number = [&] {
    std::size_t value = 0;
    for (; is_digit(); ++at) {
      value = std::min(kMaxWidth, value * 10 + static_cast<std::size_t>(text[at] - '0'));
    }
    return value;
  };
  for (; at < text.size() && (text[at] == '-' || text[at] == '0'); ++at) {
    (text[at] == '-' ? directive.is_left : directive.has_zeros) = true;
  }
  directive.width = number();
  if (at < text.size() && text[at] == '.') {
    ++at;
    directive.precision = static_cast<int>(number());
  }
  if (at == text.size()) return invalid_argument("a text ends within its % directive");
  directive.letter = text[at++];
  return directive;
}

Result<std::string> shown(const Directive& directive, const Value& value, Work& work) {
  switch (directive.letter) {
    case 's': return to_text(value, work);
    case 'r': return to_representation(value, work);
    case 'd':
    case 'i':
      if (const auto whole = value.whole()) return fmt::format("{}", *whole);
      if (const auto number = value.number()) return fmt::format("{:.0f}", std::trunc(*number));
      break;
    case 'x':
      if (const auto whole = value.whole()) return fmt::format("{:x}", *whole);
      break;
    case 'f':
      if (const auto number = value.number()) {
        return fmt::format("{:.{}f}", *number, directive.precision.value_or(6));
      }
      break;
    default: return unimplemented("the directive %{} is not supported", directive.letter);
  }
  return invalid_argument("%{} takes a number, not {}", directive.letter, value.kind());
}

void pad(std::string& text, const Directive& directive) {
  if (text.size() >= directive.width) return;
  const std::size_t missing = directive.width - text.size();
  const bool is_zero = directive.has_zeros && !directive.is_left && directive.letter != 's';
  if (directive.is_left) {
    text.append(missing, ' ');
  } else {
    text.insert(is_zero && text[0] == '-' ? 1 : 0, missing, is_zero ? '0' : ' ');
  }
}

}  // namespace

Result<std::string> fill_in(std::string_view text, const std::vector<Value>& values, Work& work) {
  std::string filled;
  std::size_t next = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '%') {
      filled += text[at++];
      continue;
    }
    const Directive directive = SLUICE_TRY(read_directive(text, ++at));
    if (directive.letter == '%') {
      filled += '%';
      continue;
    }
    if (next == values.size()) return invalid_argument("a text has more % directives than values");
    std::string one = SLUICE_TRY(shown(directive, values[next++], work));
    pad(one, directive);
    filled += one;
    SLUICE_TRY(work.spend(one.size() + Work::kStepUnits));
    SLUICE_TRY(Work::check_text(filled.size()));
  }
  if (next < values.size()) return invalid_argument("a text has fewer % directives than values");
  SLUICE_TRY(work.spend_text(filled.size()));
  return filled;
}

}  // namespace sluice::text::jinja
