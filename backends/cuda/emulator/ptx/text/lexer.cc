#include "emulator/ptx/text/lexer.h"

#include <bit>
#include <charconv>
#include <cstdlib>

#include "emulator/ptx/text/refusal.h"

namespace sluice::cuda::ptx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%' ||
         c == '.';
}
bool continues_word(char c) { return begins_word(c) || is_digit(c); }

[[noreturn]] void refuse_number(const Token& token) {
  refuse_text(token.line, "\"" + std::string(token.text) + "\" is no number");
}

std::uint64_t parse_digits(const Token& token, std::string_view digits, int base) {
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (error != std::errc() || stop != end) refuse_number(token);
  return value;
}

}  // namespace

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const std::string_view two = text_.substr(at_, 2);
    if (c == '\n') ++line_;
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      ++at_;
    } else if (two == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (two == "/*") {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) refuse_text(line_, "a comment does not end");
      for (; at_ < end + 2; ++at_) line_ += text_[at_] == '\n' ? 1 : 0;
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skip_blanks();
  token_ = {Token::Kind::kEnd, {}, line_};
  // The driver's callers end texts with a NUL.
  if (at_ >= text_.size() || text_[at_] == '\0') return;
  const std::size_t begin = at_;
  const char first = text_[at_++];
  if (begins_word(first)) {
    token_.kind = Token::Kind::kWord;
    for (; at_ < text_.size(); ++at_) {
      if (text_.substr(at_, 2) == "::")
        ++at_;
      else if (!continues_word(text_[at_]) || (first == '.' && text_[at_] == '.'))
        break;
    }
  } else if (is_digit(first)) {
    token_.kind = Token::Kind::kNumber;
    while (at_ < text_.size() && continues_word(text_[at_])) ++at_;
  } else if (first == '"') {
    token_.kind = Token::Kind::kString;
    const std::size_t end = text_.find_first_of("\"\n", at_);
    if (end == std::string_view::npos || text_[end] != '"') {
      refuse_text(line_, "a string does not end on its line");
    }
    at_ = end + 1;
  } else if (std::string_view("@!;:,(){}[]<>+-|=").find(first) != std::string_view::npos) {
    token_.kind = Token::Kind::kMark;
  } else {
    refuse_text(line_,
                "byte " + std::to_string(static_cast<unsigned char>(first)) + " begins no word");
  }
  token_.text = text_.substr(begin, at_ - begin);
}

Token Lexer::take() {
  const Token token = token_;
  advance();
  return token;
}

bool Lexer::take_if(std::string_view what) {
  if (!token_.is(what)) return false;
  advance();
  return true;
}

void Lexer::expect(std::string_view what) {
  if (take_if(what)) return;
  refuse_text(token_.line,
              "expected \"" + std::string(what) + "\" before \"" + std::string(token_.text) + "\"");
}

std::string_view Lexer::take_word(std::string_view what) {
  if (token_.kind != Token::Kind::kWord) {
    refuse_text(token_.line,
                "expected " + std::string(what) + " before \"" + std::string(token_.text) + "\"");
  }
  return take().text;
}

std::int64_t Lexer::take_integer(std::string_view what) {
  const bool is_negative = take_if("-");
  if (token_.kind != Token::Kind::kNumber) {
    refuse_text(token_.line,
                "expected " + std::string(what) + " before \"" + std::string(token_.text) + "\"");
  }
  const Number number = parse_number(take());
  if (number.kind != Number::Kind::kInteger) refuse_text(token_.line, "expected an integer");
  return static_cast<std::int64_t>(is_negative ? 0 - number.bits : number.bits);
}

void Lexer::skip_braces() {
  const std::uint32_t first_line = token_.line;
  expect("{");
  for (int depth = 1; depth > 0;) {
    if (token_.kind == Token::Kind::kEnd) refuse_text(first_line, "\"{\" has no \"}\"");
    const Token token = take();
    depth += token.is("{") ? 1 : token.is("}") ? -1 : 0;
  }
}

Number parse_number(const Token& token) {
  if (token.kind != Token::Kind::kNumber) refuse_number(token);
  std::string_view text = token.text;
  const std::string_view prefix = text.substr(0, 2);
  if (prefix == "0f" || prefix == "0F") {
    if (text.size() != 10) refuse_number(token);
    return {Number::Kind::kFloat32, parse_digits(token, text.substr(2), 16)};
  }
  if (prefix == "0d" || prefix == "0D") {
    if (text.size() != 18) refuse_number(token);
    return {Number::Kind::kFloat64, parse_digits(token, text.substr(2), 16)};
  }
  if (text.find('.') != std::string_view::npos) {
    const std::string copy(text);
    char* end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    if (end != copy.c_str() + copy.size()) refuse_number(token);
    return {Number::Kind::kFloat64, std::bit_cast<std::uint64_t>(value)};
  }
  if (text.back() == 'U') text.remove_suffix(1);
  if (prefix == "0x" || prefix == "0X")
    return {Number::Kind::kInteger, parse_digits(token, text.substr(2), 16)};
  if (prefix == "0b" || prefix == "0B")
    return {Number::Kind::kInteger, parse_digits(token, text.substr(2), 2)};
  return {Number::Kind::kInteger, parse_digits(token, text, text[0] == '0' ? 8 : 10)};
}

}  // namespace sluice::cuda::ptx
