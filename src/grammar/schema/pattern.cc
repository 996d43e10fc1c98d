#include "grammar/schema/pattern.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grammar/rules/scanner.h"
#include "grammar/schema/json_text.h"
#include "text/unicode/characters.h"

namespace sluice::grammar {
namespace {

constexpr std::size_t kMaxPatternBytes = 16384;
constexpr int kMaxPatternGroups = 32;
constexpr int kMaxPatternRepeats = 4;

const CharacterSet kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
const CharacterSet kDigitClass = {{'0', '9'}};
const CharacterSet kWordClass = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
// Validators differ in what \s, \D and \W are beyond ASCII, ECMA's and Python's for two: a class
// has the characters on which they agree.
const CharacterSet kSpaceClass = {{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},
                                  {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029},
                                  {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
const CharacterSet kMaybeSpaces = {{0x1C, 0x1F}, {0x85, 0x85}, {0xFEFF, 0xFEFF}};
const CharacterSet kAscii = {{0, 0x7F}};

class PatternReader {
 public:
  explicit PatternReader(std::string_view pattern) : scanner_(pattern) {}

  Result<Pattern> read() {
    std::vector<Pattern> alternatives;
    do {
      alternatives.push_back(SLUICE_TRY(read_anchored()));
    } while (scanner_.take("|"));
    if (!scanner_.is_at_end()) return scanner_.error("expected the end of the pattern");
    return one_of_all(std::move(alternatives));
  }

 private:
  /// Beyond it nobody asks how long a text may be.
  static constexpr std::int64_t kMaxLength = std::int64_t{1} << 31U;

  static Pattern one_character(Expression character) {
    Pattern pattern = {character, 1, 1};
    pattern.repeated = std::move(character);
    return pattern;
  }

  static Pattern one_of_all(std::vector<Pattern> alternatives) {
    if (alternatives.size() == 1) return std::move(alternatives.front());
    Pattern all = {{}, alternatives.front().least, 0};
    std::vector<Expression> parts;
    for (Pattern& one : alternatives) {
      all.least = std::min(all.least, one.least);
      all.most =
          all.most && one.most ? std::optional(std::max(*all.most, *one.most)) : std::nullopt;
      parts.push_back(std::move(one.content));
    }
    all.content = choice(std::move(parts));
    return all;
  }

  static Pattern one_behind_the_other(std::vector<Pattern> pieces) {
    if (pieces.size() == 1) return std::move(pieces.front());
    Pattern all;
    std::vector<Expression> parts;
    for (Pattern& one : pieces) {
      all.least = std::min(all.least + one.least, kMaxLength);
      all.most = all.most && one.most ? std::optional(std::min(*all.most + *one.most, kMaxLength))
                                      : std::nullopt;
      parts.push_back(std::move(one.content));
    }
    all.content = sequence(std::move(parts));
    return all;
  }

  static Pattern times(Pattern piece, std::int64_t least, std::optional<std::int64_t> most) {
    if (piece.least != 1 || piece.most != 1) piece.repeated.reset();
    piece.content = repeat(std::move(piece.content), least, most);
    piece.least = std::min(piece.least * least, kMaxLength);
    const bool is_bounded = most == 0 || piece.most == 0 || (most && piece.most);
    piece.most =
        is_bounded ? std::optional(std::min(most.value_or(0) * piece.most.value_or(0), kMaxLength))
                   : std::nullopt;
    return piece;
  }

  Result<Pattern> read_anchored() {
    const Pattern anything = times(one_character(any_character()), 0, std::nullopt);
    const bool is_at_begin = scanner_.take("^");
    Pattern content = SLUICE_TRY(read_sequence(0));
    const bool is_at_end = scanner_.take("$");
    std::vector<Pattern> parts;
    if (!is_at_begin) parts.push_back(anything);
    parts.push_back(std::move(content));
    if (!is_at_end) parts.push_back(anything);
    return one_behind_the_other(std::move(parts));
  }

  Result<Pattern> read_choice(int depth) {
    if (depth > kMaxPatternGroups)
      return scanner_.error("more than {} groups lie in each other", kMaxPatternGroups);
    std::vector<Pattern> alternatives;
    do {
      alternatives.push_back(SLUICE_TRY(read_sequence(depth)));
    } while (scanner_.take("|"));
    return one_of_all(std::move(alternatives));
  }

  Result<Pattern> read_sequence(int depth) {
    std::vector<Pattern> parts;
    while (!scanner_.is_at_end() && scanner_.peek() != '|' && scanner_.peek() != ')' &&
           scanner_.peek() != '$') {
      Pattern item = SLUICE_TRY(read_item(depth));
      parts.push_back(SLUICE_TRY(read_times(std::move(item))));
    }
    if (depth > 0 && scanner_.peek() == '$') return not_supported("$ within a group");
    return one_behind_the_other(std::move(parts));
  }

  Result<Pattern> read_item(int depth) {
    if (scanner_.take("(")) return read_group(depth);
    if (scanner_.take("[")) return read_class();
    if (scanner_.take(".")) return one_character(character_of(kLineEnds.negated()));
    if (scanner_.peek() == '^') return not_supported("^ within a pattern");
    if (scanner_.take("\\")) {
      const CharacterSet characters = SLUICE_TRY(read_escape());
      return one_character(character_of(characters));
    }
    if (std::string_view("*+?{").find(scanner_.peek()) != std::string_view::npos) {
      return scanner_.error("nothing stands before {} that could be repeated", scanner_.peek());
    }
    const char32_t c = scanner_.take_character();
    return one_character(character_of({{c, c}}));
  }

  /// (..), (?:..), and with a name (?<name>..) or, as Python writes it, (?P<name>..).
  Result<Pattern> read_group(int depth) {
    if (scanner_.take("?") && !scanner_.take(":")) {
      const bool is_named =
          scanner_.take("P<") || (scanner_.take("<") && !scanner_.sees("=") && !scanner_.sees("!"));
      if (!is_named) return not_supported("a look ahead or behind, or what else stands behind (?");
      while (!scanner_.is_at_end() && !scanner_.take(">")) scanner_.take_character();
    }
    Pattern group = SLUICE_TRY(read_choice(depth + 1));
    if (!scanner_.take(")")) return scanner_.error("expected ) at the end of the group");
    return group;
  }

  Result<Pattern> read_times(Pattern item) {
    for (int i = 0; i <= kMaxPatternRepeats; ++i) {
      if (scanner_.take("*")) {
        item = times(std::move(item), 0, std::nullopt);
      } else if (scanner_.take("+")) {
        item = times(std::move(item), 1, std::nullopt);
      } else if (scanner_.take("?")) {
        item = times(std::move(item), 0, 1);
      } else if (scanner_.take("{")) {
        const Count count = SLUICE_TRY(read_count(scanner_));
        item = times(std::move(item), count.least, count.most);
      } else {
        return item;
      }
      // A lazy repetition takes other parts of a text, and fits the same ones.
      scanner_.take("?");
    }
    return scanner_.error("more than {} repetitions of each other", kMaxPatternRepeats);
  }

  /// Behind the backslash.
  Result<CharacterSet> read_escape() {
    if (scanner_.take("d")) return kDigitClass;
    if (scanner_.take("D")) return kAscii.without(kDigitClass);
    if (scanner_.take("w")) return kWordClass;
    if (scanner_.take("W")) return kAscii.without(kWordClass);
    if (scanner_.take("s")) return kSpaceClass;
    if (scanner_.take("S")) return kSpaceClass.negated().without(kMaybeSpaces);
    const char32_t c = SLUICE_TRY(read_escaped_character());
    return CharacterSet{{c, c}};
  }

  Result<char32_t> read_escaped_character() {
    if (scanner_.take("n")) return U'\n';
    if (scanner_.take("r")) return U'\r';
    if (scanner_.take("t")) return U'\t';
    if (scanner_.take("f")) return U'\f';
    if (scanner_.take("v")) return U'\v';
    if (scanner_.take("x")) return scanner_.take_hex(2);
    if (scanner_.take("u")) return scanner_.take_hex(4);
    const char c = scanner_.peek();
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter || (c >= '0' && c <= '9')) return not_supported(std::string{'\\', c});
    if (c == '\0') return scanner_.error("the pattern ends behind a backslash");
    return scanner_.take_character();
  }

  Result<Pattern> read_class() {
    const bool is_negated = scanner_.take("^");
    CharacterSet characters;
    while (!scanner_.take("]")) {
      if (scanner_.is_at_end()) return scanner_.error("expected ] at the end of the class");
      const CharacterSet first = SLUICE_TRY(read_of_class());
      if (!scanner_.sees("-") || scanner_.sees("-]")) {
        characters.add(first);
        continue;
      }
      scanner_.take("-");
      const CharacterSet last = SLUICE_TRY(read_of_class());
      const auto from = only(first);
      const auto to = only(last);
      if (!from || !to || *to < *from) return scanner_.error("this is no range of characters");
      characters.add({*from, *to});
    }
    return one_character(character_of(is_negated ? characters.negated() : characters));
  }

  Result<CharacterSet> read_of_class() {
    if (scanner_.is_at_end()) return scanner_.error("expected ] at the end of the class");
    if (scanner_.take("\\")) {
      if (scanner_.take("b")) return CharacterSet{{'\b', '\b'}};
      return read_escape();
    }
    const char32_t c = scanner_.take_character();
    return CharacterSet{{c, c}};
  }

  static std::optional<char32_t> only(const CharacterSet& characters) {
    const auto ranges = characters.ranges();
    if (ranges.size() != 1 || ranges[0].first != ranges[0].last) return std::nullopt;
    return ranges[0].first;
  }

  Status not_supported(std::string_view what) const {
    return unimplemented("{} is not supported (character {})", what, scanner_.at() + 1);
  }

  Scanner scanner_;
};

}  // namespace

Result<Pattern> read_pattern(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return invalid_argument("a pattern of {} bytes; at most {} are read", pattern.size(),
                            kMaxPatternBytes);
  }
  SLUICE_TRY(text::check_utf8(pattern));
  return PatternReader(pattern).read();
}

}  // namespace sluice::grammar
