#include "grammar/rules/scanner.h"

#include <algorithm>

#include "text/unicode/characters.h"

namespace sluice::grammar {
namespace {

constexpr std::int64_t kMostTimes = 10'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

char32_t Scanner::take_character() { return text::next_character(text_, at_); }

std::optional<std::int64_t> Scanner::take_number() {
  constexpr std::size_t kMostDigits = 9;
  std::int64_t number = 0;
  const std::size_t begin = at_;
  for (; is_digit(peek()) && at_ < begin + kMostDigits; ++at_)
    number = 10 * number + (peek() - '0');
  if (at_ == begin || is_digit(peek())) return std::nullopt;
  return number;
}

Result<char32_t> Scanner::take_hex(std::size_t digits) {
  char32_t value = 0;
  for (std::size_t i = 0; i < digits; ++i, ++at_) {
    const char c = peek();
    const char lower = static_cast<char>(c | 0x20);
    if (!is_digit(c) && (lower < 'a' || lower > 'f')) {
      return error("expected {} hexadecimal digits", digits);
    }
    value = value * 16 + static_cast<char32_t>(is_digit(c) ? c - '0' : lower - 'a' + 10);
  }
  const bool is_surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value > 0x10FFFF || is_surrogate) return error("no character has this number");
  return value;
}

Status Scanner::error_of(std::string_view problem) const {
  if (text_.find('\n') == std::string_view::npos) {
    return invalid_argument("character {}: {}", at_ + 1, problem);
  }
  return invalid_argument("line {}: {}", 1 + std::ranges::count(text_.substr(0, at_), '\n'),
                          problem);
}

Result<Count> read_count(Scanner& scanner) {
  Count count;
  const auto least = scanner.take_number();
  count.least = least.value_or(0);
  count.most = least;
  if (scanner.take(",")) count.most = scanner.take_number();
  const bool has_any = least || count.most;
  if (!has_any || !scanner.take("}")) return scanner.error("expected {{3}}, {{3,}} or {{3,5}}");
  if (count.most && *count.most < count.least) {
    return scanner.error("{{{},{}}} is never met", count.least, *count.most);
  }
  if (std::max(count.least, count.most.value_or(0)) > kMostTimes) {
    return scanner.error("at most {} times are possible", kMostTimes);
  }
  return count;
}

}  // namespace sluice::grammar
