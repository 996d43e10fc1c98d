#include "text/unicode/oniguruma.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

namespace sluice::text {
namespace {

// Members of sets, without the brackets.
constexpr std::string_view kSpaces =
    R"(\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kWordCharacters =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
// Outside of sets Oniguruma takes the characters below U+0100 from a table of its own, which has
// the superscripts and fractions.
constexpr std::string_view kWordNumbers = R"(\xb2\xb3\xb9\xbc-\xbe)";
constexpr std::string_view kHexDigits = "0-9A-Fa-f";

/// The names of [[:name:]], which \p{name} takes, too. PCRE2's own are others: its "punct" and
/// "alpha" know fewer characters, its "word" and "space" more.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kNamedSets = {{
    {"alnum", R"(\p{Alphabetic}\p{Nd})"},
    {"alpha", R"(\p{Alphabetic})"},
    {"ascii", R"(\x00-\x7f)"},
    {"blank", R"(\p{Zs}\t)"},
    {"cntrl", R"(\p{Cc})"},
    {"digit", R"(\p{Nd})"},
    {"graph", R"(\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co})"},
    {"lower", R"(\p{Lowercase})"},
    {"print", R"(\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}\p{Zs})"},
    {"punct", R"(\p{P}\p{S})"},
    {"space", kSpaces},
    {"upper", R"(\p{Uppercase})"},
    {"word", kWordCharacters},
    {"xdigit", kHexDigits},
}};

/// Empty if there is no such set.
std::string_view named_set(std::string_view name) {
  const auto* found =
      std::ranges::find(kNamedSets, name, [](const auto& set) { return set.first; });
  return found == kNamedSets.end() ? std::string_view() : found->second;
}

/// As properties compare: without case, spaces, '_' and '-'.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == ' ' || c == '_' || c == '-') continue;
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

/// PCRE2 knows the scripts, so it is asked. False for another property, such as L.
bool is_script(std::string_view name) {
  constexpr std::size_t kMaxNameBytes = 64;
  const bool is_name = std::ranges::all_of(
      name, [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; });
  if (!is_name || name.empty() || name.size() > kMaxNameBytes) return false;
  const std::string expression = fmt::format("\\p{{sc:{}}}", name);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()),
                                   expression.size(), PCRE2_UTF, &error, &offset, nullptr);
  pcre2_code_free(code);
  return code != nullptr;
}

class Translation {
 public:
  explicit Translation(std::string_view from) : from_(from) {}

  Result<std::string> run() {
    while (at_ < from_.size()) SLUICE_TRY(step());
    close_options();
    return std::move(to_);
  }

 private:
  /// What (?imx) within a group changed lasts to its end.
  struct Group {
    std::size_t num_options = 0;
    bool is_extended = false;
  };

  /// Copies the next part: nearly all of an expression means the same in both syntaxes.
  Status step() {
    const char c = from_[at_];
    if (c == '\\') return escape();
    if (in_set_) return member();
    switch (c) {
      case '[': begin_set(); return ok_status();
      case '(': return begin_group();
      case ')': end_group(); return ok_status();
      case '{': return repetition();
      case '#':
        if (!groups_.back().is_extended) break;
        at_ = std::min(from_.find('\n', at_), from_.size());
        return ok_status();
      case '}':
        // Oniguruma reads `{n,m}+` as a repetition of the repetition, PCRE2 as a possessive one.
        if (from_.substr(at_ + 1).starts_with('+')) return refused("a '+' behind '}'");
        break;
      default: break;
    }
    to_ += from_[at_++];
    return ok_status();
  }

  Status refused(std::string_view what) const {
    return unimplemented("{} is not supported, at byte {} of the expression", what, at_);
  }

  /// {,n} is no repetition to PCRE2, and {n}? is "n times or not at all" to Oniguruma alone.
  Status repetition() {
    const std::size_t behind = from_.find_first_not_of("0123456789", at_ + 1);
    if (behind != std::string_view::npos && behind > at_ + 1 &&
        from_.substr(behind).starts_with("}?")) {
      return refused("a '?' behind {n}");
    }
    to_ += from_[at_++];
    if (!from_.substr(at_).starts_with(',')) return ok_status();
    const std::size_t end = from_.find_first_not_of("0123456789", at_ + 1);
    if (end != std::string_view::npos && end > at_ + 1 && from_[end] == '}') to_ += '0';
    return ok_status();
  }

  // ---- groups and options

  Status begin_group() {
    const std::string_view rest = from_.substr(at_);
    if (rest.starts_with("(*")) return refused("(*");
    if (rest.starts_with("(?#")) {
      at_ = std::min(from_.find(')', at_), from_.size() - 1) + 1;
      return ok_status();
    }
    const std::size_t end = rest.starts_with("(?") ? rest.find_first_not_of("imsx-", 2) : 0;
    if (end != 0 && end != std::string_view::npos && (rest[end] == ':' || rest[end] == ')')) {
      return options(rest.substr(2, end - 2), rest[end] == ':');
    }
    to_ += from_[at_++];
    groups_.push_back({0, groups_.back().is_extended});
    return ok_status();
  }

  /// Ruby's (?m) is PCRE2's (?s). Ruby's a(?i)b|c is a(?i:b|c), PCRE2's is a(?i:b)|(?i:c).
  Status options(std::string_view letters, bool has_group) {
    to_ += "(?";
    Group group = {0, groups_.back().is_extended};
    bool is_on = true;
    for (const char letter : letters) {
      if (letter == 's') return refused("the option s");
      if (letter == '-') is_on = false;
      if (letter == 'x') group.is_extended = is_on;
      to_ += letter == 'm' ? 's' : letter;
    }
    to_ += ':';
    at_ += letters.size() + 3;
    if (has_group) {
      groups_.push_back(group);
    } else {
      groups_.back().is_extended = group.is_extended;
      ++groups_.back().num_options;
    }
    return ok_status();
  }

  void close_options() { to_.append(std::exchange(groups_.back().num_options, 0), ')'); }

  void end_group() {
    if (groups_.size() > 1) {
      close_options();
      groups_.pop_back();
    }
    to_ += from_[at_++];
  }

  // ---- sets

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
    if (rest.starts_with("[:")) {
      const std::size_t end = rest.find(":]");
      if (end == std::string_view::npos) return refused("a set within a set");
      return named(rest.substr(2, end - 2), end + 2);
    }
    if (rest[0] == '[') return refused("a set within a set");
    if (rest[0] == ']') in_set_ = false;
    to_ += rest[0];
    ++at_;
    return ok_status();
  }

  /// [:name:] or [:^name:], of that many bytes.
  Status named(std::string_view name, std::size_t size) {
    const bool is_inverse = name.starts_with('^');
    const std::string_view members = named_set(name.substr(is_inverse ? 1 : 0));
    if (members.empty()) return refused(fmt::format("[:{}:]", name));
    return put_set(members, is_inverse, size);
  }

  /// In place of the next `size` bytes.
  Status put_set(std::string_view members, bool is_inverse, std::size_t size = 2) {
    if (in_set_ && is_inverse) {
      // The inverse of several ranges has no short form within a set.
      const bool is_property =
          members.starts_with("\\p{") && members.find('}') + 1 == members.size();
      if (!is_property) {
        return refused(fmt::format("{} within a set", from_.substr(at_, size)));
      }
      to_ += "\\P";
      to_ += members.substr(2);
    } else if (in_set_) {
      to_ += members;
    } else {
      to_ += fmt::format("[{}{}]", is_inverse ? "^" : "", members);
    }
    at_ += size;
    return ok_status();
  }

  std::string words() const {
    return fmt::format("{}{}", kWordCharacters, in_set_ ? std::string_view() : kWordNumbers);
  }

  /// \b or \B: PCRE2's know other words.
  Status boundary(bool is_inverse) {
    const std::string word = words();
    to_ += fmt::format("(?:(?<=[{0}])(?{1}[{0}])|(?<![{0}])(?{2}[{0}]))", word,
                       is_inverse ? '=' : '!', is_inverse ? '!' : '=');
    at_ += 2;
    return ok_status();
  }

  Status literal(std::string_view text) {
    to_ += text;
    at_ += 2;
    return ok_status();
  }

  Status copy(std::size_t size) {
    to_ += from_.substr(at_, size);
    at_ = std::min(at_ + size, from_.size());
    return ok_status();
  }

  /// \p{name}, \p{^name}, \P{name}. The name of a script is to PCRE2 also that of characters which
  /// other scripts share, such as the full stop of Chinese.
  Status property() {
    const std::size_t close = from_.find('}', at_);
    if (close == std::string_view::npos) return copy(2);
    const std::size_t size = close - at_ + 1;
    std::string_view name = from_.substr(at_ + 3, size - 4);
    const bool has_caret = name.starts_with('^');
    if (has_caret) name.remove_prefix(1);
    const bool is_inverse = has_caret != (from_[at_ + 1] == 'P');
    const std::string plain = plain_name(name);
    if (plain == "word") return put_set(words(), is_inverse, size);
    if (plain == "punct") return put_set(R"(\p{P})", is_inverse, size);
    if (const auto members = named_set(plain); !members.empty()) {
      return put_set(members, is_inverse, size);
    }
    if (!is_script(name)) return copy(size);
    to_ += fmt::format("\\{}{{sc:{}}}", is_inverse ? 'P' : 'p', name);
    at_ += size;
    return ok_status();
  }

  Status escape() {
    const std::string_view rest = from_.substr(at_);
    const char kind = rest.size() > 1 ? rest[1] : '\0';
    switch (kind) {
      case 's': return put_set(kSpaces, false);
      case 'w': return put_set(words(), false);
      case 'W': return put_set(words(), true);
      case 'h': return put_set(kHexDigits, false);
      case 'H': return put_set(kHexDigits, true);
      // PCRE2's spaces are these and U+180E.
      case 'S': return in_set_ ? literal(R"(\S\x{180e})") : put_set(kSpaces, true);
      case 'b':
      case 'B': return in_set_ ? copy(2) : boundary(kind == 'B');
      case 'v': return literal(R"(\x0b)");
      // Letters, of which PCRE2 makes something else.
      case 'E':
      case 'Q':
      case 'V': return literal(rest.substr(1, 1));
      case 'p':
      case 'P': return rest.substr(2).starts_with('{') ? property() : literal(rest.substr(1, 1));
      default: break;
    }
    // \x{e9}: braces that belong to the escape are no repetition.
    if (!rest.substr(std::min<std::size_t>(2, rest.size())).starts_with('{')) return copy(2);
    return copy(std::min(rest.find('}'), rest.size() - 1) + 1);
  }

  std::string_view from_;
  std::size_t at_ = 0;
  bool in_set_ = false;
  std::vector<Group> groups_ = {Group()};
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
