#include "text/unicode/oniguruma.h"

#include <algorithm>

namespace sluice::text {
namespace {

// Members of sets, without the brackets.
constexpr std::string_view kSpaces =
    R"(\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kWordCharacters =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
constexpr std::string_view kHexDigits = "0-9A-Fa-f";

class Translation {
 public:
  explicit Translation(std::string_view from) : from_(from) {}

  Result<std::string> run() {
    while (at_ < from_.size()) {
      const char c = from_[at_];
      // Most of an expression means the same in both syntaxes and is copied.
      if (c == '\\') {
        SLUICE_TRY(escape());
      } else if (in_set_) {
        SLUICE_TRY(member());
      } else if (c == '[') {
        begin_set();
      } else if (c == '}' && at_ + 1 < from_.size() && from_[at_ + 1] == '+') {
        // Oniguruma reads `{n,m}+` as a repetition of the repetition, PCRE2 as a possessive one.
        return refused("a '+' behind '}'");
      } else {
        to_ += from_[at_++];
      }
    }
    return std::move(to_);
  }

 private:
  Status refused(std::string_view what) const {
    return unimplemented("{} is not supported, at byte {} of the expression", what, at_);
  }

  void begin_set() {
    in_set_ = true;
    to_ += from_[at_++];
    if (at_ < from_.size() && from_[at_] == '^') to_ += from_[at_++];
    // A bracket that is the first member is one.
    if (at_ < from_.size() && from_[at_] == ']') to_ += "\\]", ++at_;
  }

  Status member() {
    const std::string_view rest = from_.substr(at_);
    if (rest.starts_with("&&")) return refused("an intersection of sets");
    // A POSIX class such as [:alpha:] is copied as it stands.
    if (rest.starts_with("[:")) {
      const std::size_t end = rest.find(":]");
      if (end == std::string_view::npos) return refused("a set within a set");
      to_ += rest.substr(0, end + 2);
      at_ += end + 2;
      return ok_status();
    }
    if (rest[0] == '[') return refused("a set within a set");
    if (rest[0] == ']') in_set_ = false;
    to_ += rest[0];
    ++at_;
    return ok_status();
  }

  void put_set(std::string_view members, bool is_inverse) {
    at_ += 2;
    if (in_set_) {
      to_ += members;
    } else {
      to_ += is_inverse ? "[^" : "[";
      to_ += members;
      to_ += ']';
    }
  }

  Status escape() {
    const char kind = at_ + 1 < from_.size() ? from_[at_ + 1] : '\0';
    // The inverse of several ranges has no short form within a set.
    if (in_set_ && (kind == 'W' || kind == 'H')) {
      return refused(fmt::format("\\{} within a set", kind));
    }
    switch (kind) {
      case 's': put_set(kSpaces, false); return ok_status();
      case 'w': put_set(kWordCharacters, false); return ok_status();
      case 'W': put_set(kWordCharacters, true); return ok_status();
      case 'h': put_set(kHexDigits, false); return ok_status();
      case 'H': put_set(kHexDigits, true); return ok_status();
      case 'S':
        if (!in_set_) {
          put_set(kSpaces, true);
          return ok_status();
        }
        break;
      default: break;
    }
    // \p{Lu}: braces that belong to the escape are no quantifier.
    std::size_t size = 2;
    if (at_ + 2 < from_.size() && from_[at_ + 2] == '{') {
      size = std::min(from_.find('}', at_), from_.size() - 1) - at_ + 1;
    }
    to_ += from_.substr(at_, size);
    at_ = std::min(at_ + size, from_.size());
    return ok_status();
  }

  std::string_view from_;
  std::size_t at_ = 0;
  bool in_set_ = false;
  std::string to_;
};

}  // namespace

Result<std::string> to_pcre2(std::string_view oniguruma) { return Translation(oniguruma).run(); }

std::string escape_expression(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view(R"(\^$.[]|()?*+{}#&-~)").find(c) != std::string_view::npos)
      escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace sluice::text
