#include "ir/text/lexer.h"

#include <algorithm>

#include "base/text/number.h"
#include "ir/text/literal.h"

namespace sluice::ir {

void Lexer::skip_space() {
  while (at_ < text_.size()) {
    if (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r') {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

bool Lexer::is_at_end() {
  skip_space();
  return at_ == text_.size();
}

char Lexer::peek() { return is_at_end() ? '\0' : text_[at_]; }

bool Lexer::take(char wanted) {
  if (peek() != wanted) return false;
  ++at_;
  return true;
}

bool Lexer::take_word(std::string_view wanted) {
  skip_space();
  if (!text_.substr(at_).starts_with(wanted)) return false;
  const std::string_view after = text_.substr(at_ + wanted.size(), 1);
  // "input" must not match the beginning of "inputs".
  if (is_plain_word(after)) return false;
  at_ += wanted.size();
  return true;
}

Status Lexer::expect(char wanted) {
  return take(wanted) ? ok_status() : error(fmt::format("expected '{}'", wanted));
}

Status Lexer::expect_word(std::string_view wanted) {
  return take_word(wanted) ? ok_status() : error(fmt::format("expected \"{}\"", wanted));
}

Result<std::string> Lexer::word() {
  skip_space();
  const std::size_t begin = at_;
  // Numbers such as 1e+20 contain a plus; plain names never do.
  while (at_ < text_.size() && (is_plain_word(text_.substr(at_, 1)) || text_[at_] == '+')) ++at_;
  if (begin == at_) return error("expected a word");
  return std::string(text_.substr(begin, at_ - begin));
}

Result<char> Lexer::escape() {
  if (at_ == text_.size()) return error("unterminated string");
  const char kind = text_[at_++];
  if (kind == 'n') return '\n';
  if (kind == 't') return '\t';
  if (kind == '"' || kind == '\\') return kind;
  const auto byte = kind == 'x' ? from_hex(text_.substr(at_, 2)) : std::nullopt;
  if (!byte || byte->size() != 1) return error("unknown escape in a string");
  at_ += 2;
  return static_cast<char>(byte->front());
}

Result<std::string> Lexer::quoted() {
  SLUICE_TRY(expect('"'));
  std::string value;
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    if (c == '"') return value;
    value += c == '\\' ? SLUICE_TRY(escape()) : c;
  }
  return error("unterminated string");
}

Result<std::string> Lexer::word_or_quoted() { return peek() == '"' ? quoted() : word(); }

Result<std::int64_t> Lexer::integer() {
  const std::string text = SLUICE_TRY(word());
  const auto value = to_number<std::int64_t>(text);
  if (!value) return error(fmt::format("\"{}\" is not an integer", text));
  return *value;
}

std::string_view Lexer::type_text() {
  skip_space();
  const std::size_t begin = at_;
  int depth = 0;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    // A type ends at the first separator outside its own brackets: f32[N,3] is one word.
    if (c == '[' || c == '(') ++depth;
    if (depth == 0 && std::string_view(" \n\t\r,)}=]").find(c) != std::string_view::npos) break;
    if (c == ']' || c == ')') --depth;
  }
  return text_.substr(begin, at_ - begin);
}

Status Lexer::error(std::string_view what) const {
  // Lines are counted for an error only, so reading a text keeps no count.
  const std::string_view before = text_.substr(0, at_);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return invalid_argument("line {}, column {}: {}", line, at_ - line_start + 1, what);
}

}  // namespace sluice::ir
