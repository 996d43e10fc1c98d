#include "text/jinja/syntax/lexer.h"

#include <algorithm>
#include <utility>

#include "text/jinja/syntax/string_literal.h"
#include "text/jinja/values/strings.h"
#include "text/unicode/characters.h"

namespace sluice::text::jinja {
namespace {

constexpr auto kNowhere = std::string_view::npos;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Bytes of characters beyond ASCII count as letters: Python allows such names, and no operator has
/// them.
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// Line ends become \n, and one at the end of the template goes.
std::string normalize_lines(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    text += source[i] == '\r' ? '\n' : source[i];
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : text_(source) {}

  Result<std::vector<Token>> run() {
    while (at_ < text_.size()) SLUICE_TRY(next_part());
    push(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  void push(TokenKind kind, std::string_view text) {
    tokens_.push_back({kind, std::string(text), line_});
  }

  void advance(std::size_t count) {
    const std::string_view passed = text_.substr(at_, count);
    line_ += static_cast<int>(std::ranges::count(passed, '\n'));
    at_ += passed.size();
  }

  void skip_space() {
    const std::string_view rest = text_.substr(at_);
    advance(rest.size() - strip(rest, nullptr, Side::kLeft).size());
  }

  Status error(std::string_view problem) const {
    return invalid_argument("line {} of the template: {}", line_, problem);
  }

  bool is_at(std::string_view mark) const { return text_.substr(at_).starts_with(mark); }

  /// Text up to the next mark, and what the mark begins.
  Status next_part() {
    // A brace is text unless %, # or a second brace follows. Braces of JSON in a prompt are common.
    std::size_t mark = at_;
    while (true) {
      mark = text_.find('{', mark);
      if (mark == kNowhere || mark + 1 == text_.size()) {
        return add_text(text_.size(), "", false);
      }
      if (std::string_view("{%#").find(text_[mark + 1]) != kNowhere) break;
      ++mark;
    }
    const char kind = text_[mark + 1];
    std::string_view sign = text_.substr(mark + 2, 1);
    // "-" behind a mark takes the white space before it; "+" keeps what lstrip_blocks would take.
    if (sign != "-" && sign != "+") sign = "";
    SLUICE_TRY(add_text(mark, sign, kind != '{'));
    if (kind == '#') return skip_comment();
    // Checked before tokens are read: what stands in a raw block may not be tokens at all.
    if (kind == '%' && is_raw(mark + 2 + sign.size())) return add_raw(sign.size());
    push(kind == '{' ? TokenKind::kOutputBegin : TokenKind::kTagBegin, "");
    advance(2 + sign.size());
    return add_code(kind == '{');
  }

  /// The text from here to `end`, without white space that the mark there takes away.
  Status add_text(std::size_t end, std::string_view sign, bool is_tag) {
    std::string_view data = text_.substr(at_, end - at_);
    if (sign == "-") {
      data = strip(data, nullptr, Side::kRight);
    } else if (is_tag && sign != "+") {
      // Chat templates are read with lstrip_blocks and trim_blocks switched on, as Hugging Face
      // reads them.
      data = without_indent(data);
    }
    if (!data.empty()) push(TokenKind::kText, data);
    advance(end - at_);
    return ok_status();
  }

  /// Without white space between the begin of the line and the mark behind `data`.
  std::string_view without_indent(std::string_view data) const {
    const std::size_t newline = data.rfind('\n');
    const bool starts_line = at_ == 0 || text_[at_ - 1] == '\n';
    if (newline == kNowhere && !starts_line) return data;
    const std::size_t begin = newline == kNowhere ? 0 : newline + 1;
    return strip(data.substr(begin), nullptr, Side::kLeft).empty() ? data.substr(0, begin) : data;
  }

  /// Behind the end of a tag or comment: "-" takes white space, "" one line end, "+" nothing.
  void end_tag(std::string_view sign) {
    if (sign == "-") {
      skip_space();
    } else if (sign.empty() && is_at("\n")) {
      advance(1);
    }
  }

  Status skip_comment() {
    // From behind the begin, so that `{#}` is no whole comment.
    const std::size_t end = text_.find("#}", at_ + 2);
    if (end == kNowhere) return error("a comment has no end");
    std::string_view sign = text_.substr(end - 1, 1);
    if ((sign != "-" && sign != "+") || end - 1 < at_ + 2) sign = "";
    advance(end + 2 - at_);
    end_tag(sign);
    return ok_status();
  }

  /// Where "raw", white space and the end of the tag stand at `from`: the place behind; else 0.
  std::size_t end_of_word(std::size_t from, std::string_view word, std::string_view& sign) const {
    std::string_view rest = strip(text_.substr(from), nullptr, Side::kLeft);
    if (!rest.starts_with(word)) return 0;
    rest = strip(rest.substr(word.size()), nullptr, Side::kLeft);
    sign = rest.substr(0, 1);
    if (sign != "-" && sign != "+") sign = "";
    rest.remove_prefix(sign.size());
    return rest.starts_with("%}") ? text_.size() - rest.size() + 2 : 0;
  }

  bool is_raw(std::size_t from) const {
    std::string_view sign;
    return end_of_word(from, "raw", sign) > 0;
  }

  Status add_raw(std::size_t sign_size) {
    std::string_view sign;
    advance(end_of_word(at_ + 2 + sign_size, "raw", sign) - at_);
    if (sign == "-") skip_space();
    // Nothing within a raw block counts but its own end; `{% endif %}` there is text.
    for (std::size_t mark = text_.find("{%", at_); mark != kNowhere;
         mark = text_.find("{%", mark + 2)) {
      std::string_view before = text_.substr(mark + 2, 1);
      if (before != "-" && before != "+") before = "";
      const std::size_t end = end_of_word(mark + 2 + before.size(), "endraw", sign);
      if (end == 0) continue;
      SLUICE_TRY(add_text(mark, before, true));
      advance(end - at_);
      end_tag(sign);
      return ok_status();
    }
    return error("raw has no end");
  }

  /// Tokens up to the end of the output or tag.
  Status add_code(bool is_output) {
    const std::string_view end = is_output ? "}}" : "%}";
    std::string open;  // brackets that have no end yet; within them no tag ends
    while (true) {
      skip_space();
      if (at_ == text_.size()) return error(is_output ? "{{ has no end" : "{% has no end");
      // A minus belongs to the end only directly before it, and in no open bracket: `{{ a[-1] }}`
      // has none.
      const bool has_sign = (text_[at_] == '-' || (text_[at_] == '+' && !is_output)) &&
                            text_.substr(at_ + 1).starts_with(end);
      if (open.empty() && (has_sign || is_at(end))) {
        const std::string_view sign = has_sign ? text_.substr(at_, 1) : "";
        push(is_output ? TokenKind::kOutputEnd : TokenKind::kTagEnd, "");
        advance(sign.size() + 2);
        if (!is_output || sign == "-") end_tag(sign);
        return ok_status();
      }
      SLUICE_TRY(add_token(open));
    }
  }

  Status add_token(std::string& open) {
    const char c = text_[at_];
    if (is_name_start(c)) {
      std::size_t end = at_ + 1;
      while (end < text_.size() && (is_name_start(text_[end]) || is_digit(text_[end]))) ++end;
      return take(TokenKind::kName, end - at_);
    }
    if (is_digit(c)) return add_number();
    if (c == '"' || c == '\'') return add_string();
    return add_operator(open);
  }

  Status take(TokenKind kind, std::size_t size) {
    push(kind, text_.substr(at_, size));
    advance(size);
    return ok_status();
  }

  /// The place behind digits, which single underscores may part.
  std::size_t end_of_digits(std::size_t from) const {
    const auto is_digit_at = [&](std::size_t i) { return i < text_.size() && is_digit(text_[i]); };
    while (is_digit_at(from) ||
           (from < text_.size() && text_[from] == '_' && is_digit_at(from + 1)))
      ++from;
    return from;
  }

  Status add_number() {
    std::size_t end = end_of_digits(at_);
    // Behind a dot digits are an index: `a.0.1` is two items, not the number 0.1.
    const bool follows_dot = at_ > 0 && text_[at_ - 1] == '.';
    const auto has_digit = [&](std::size_t i) { return i < text_.size() && is_digit(text_[i]); };
    bool is_float = false;
    if (!follows_dot && end < text_.size() && text_[end] == '.' && has_digit(end + 1)) {
      end = end_of_digits(end + 1);
      is_float = true;
    }
    if (!follows_dot && end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      const bool has_sign =
          end + 1 < text_.size() && (text_[end + 1] == '+' || text_[end + 1] == '-');
      const std::size_t digits = end + (has_sign ? 2 : 1);
      if (has_digit(digits)) {
        end = end_of_digits(digits);
        is_float = true;
      }
    }
    std::string number(text_.substr(at_, end - at_));
    std::erase(number, '_');
    push(is_float ? TokenKind::kFloat : TokenKind::kInteger, number);
    advance(end - at_);
    return ok_status();
  }

  Status add_string() {
    std::size_t end = at_ + 1;
    // A backslash takes the next character along, so an escaped quote does not end the string.
    while (end < text_.size() && text_[end] != text_[at_]) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return error("a string has no end");
    auto unescaped = unescape(text_.substr(at_ + 1, end - at_ - 1));
    if (!unescaped.is_ok()) return error(unescaped.status().message());
    push(TokenKind::kString, *unescaped);
    advance(end + 1 - at_);
    return ok_status();
  }

  Status add_operator(std::string& open) {
    // Two characters before one, so that `<` is never the start of `<=`.
    constexpr std::string_view kDouble[] = {"//", "**", "==", "!=", ">=", "<="};
    for (const std::string_view sign : kDouble) {
      if (is_at(sign)) return take(TokenKind::kOperator, 2);
    }
    const char c = text_[at_];
    if (std::string_view("+-/*%~[](){}><=.:|,;").find(c) == kNowhere) {
      return error("a character has no meaning here");
    }
    const std::string_view brackets = "()[]{}";
    const std::size_t place = brackets.find(c);
    if (place != kNowhere && place % 2 == 0) {
      open += c;
    } else if (place != kNowhere) {
      // `}}` ends an output only if no brace is open: {{ {"a": {}} }} has both meanings of it.
      if (open.empty() || open.back() != brackets[place - 1])
        return error("a bracket has no begin");
      open.pop_back();
    }
    return take(TokenKind::kOperator, 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) {
  SLUICE_TRY(check_utf8(source));
  const std::string text = normalize_lines(source);
  return Lexer(text).run();
}

}  // namespace sluice::text::jinja
