// Tokenizer of com.microsoft: how many tokens a string has at most, and the tokens.
#include <re2/re2.h>

#include <algorithm>
#include <memory>

#include "reference/elementwise.h"
#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;
using Tokens = std::vector<std::string_view>;

constexpr std::string_view kStartMark = "\x02";
constexpr std::string_view kEndMark = "\x03";

re2::StringPiece piece_of(std::string_view text) { return {text.data(), text.size()}; }

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

/// Bytes of the first character of a text that is not empty.
std::size_t character_bytes(std::string_view text) {
  std::size_t bytes = 1;
  while (bytes < text.size() && is_continuation(text[bytes])) ++bytes;
  return bytes;
}

std::int64_t num_characters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return !is_continuation(c); });
}

/// Cuts texts as the attributes say. The longest of several matches at one place counts.
class Cutter {
 public:
  explicit Cutter(const plugin::Attributes& attributes)
      : least_(attributes.get_int("mincharnum", 1)),
        has_marks_(attributes.get_int("mark") != 0),
        padding_(attributes.get_text("pad_value")),
        expression_(attributes.get_text("tokenexp")) {
    if (!expression_.empty()) patterns_.push_back(compiled(expression_));
    const auto separators = attributes.get_texts("separators");
    cuts_characters_ = separators.size() == 1 && separators[0].empty();
    if (cuts_characters_ || !expression_.empty()) return;
    for (const std::string_view separator : separators) patterns_.push_back(compiled(separator));
  }

  /// The message of the first pattern that is none; empty if all are.
  std::string error() const {
    for (const auto& pattern : patterns_) {
      if (!pattern->ok()) return "\"" + pattern->pattern() + "\": " + pattern->error();
    }
    return "";
  }

  /// With marks, without padding.
  Tokens cut(std::string_view text) const {
    Tokens tokens;
    if (has_marks_) tokens.push_back(kStartMark);
    if (cuts_characters_) {
      add_characters(text, tokens);
    } else if (!expression_.empty()) {
      add_matches(text, tokens);
    } else {
      add_between_separators(text, tokens);
    }
    if (has_marks_) tokens.push_back(kEndMark);
    return tokens;
  }

  std::string_view padding() const { return padding_; }

 private:
  static std::unique_ptr<RE2> compiled(std::string_view pattern) {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_longest_match(true);
    return std::make_unique<RE2>(piece_of(pattern), options);
  }

  static bool find(const RE2& pattern, std::string_view text, std::size_t from,
                   std::string_view* match) {
    re2::StringPiece found;
    if (!pattern.Match(piece_of(text), from, text.size(), RE2::UNANCHORED, &found, 1)) return false;
    *match = text.substr(static_cast<std::size_t>(found.data() - text.data()), found.size());
    return true;
  }

  /// Where the search goes on: behind the match, or behind a character if the match is empty.
  static std::size_t behind(std::string_view text, std::string_view match) {
    const auto place = static_cast<std::size_t>(match.data() - text.data());
    // An empty match must not be found again at the same place.
    if (!match.empty() || place >= text.size())
      return place + std::max<std::size_t>(match.size(), 1);
    return place + character_bytes(text.substr(place));
  }

  void add(std::string_view token, Tokens& tokens) const {
    if (!token.empty() && num_characters(token) >= least_) tokens.push_back(token);
  }

  static void add_characters(std::string_view text, Tokens& tokens) {
    while (!text.empty()) {
      tokens.push_back(text.substr(0, character_bytes(text)));
      text.remove_prefix(tokens.back().size());
    }
  }

  void add_matches(std::string_view text, Tokens& tokens) const {
    std::string_view match;
    for (std::size_t at = 0; at < text.size() && find(*patterns_[0], text, at, &match);
         at = behind(text, match)) {
      add(match, tokens);
    }
  }

  /// Each separator cuts what those before it left.
  void add_between_separators(std::string_view text, Tokens& tokens) const {
    Tokens pieces = {text};
    for (const auto& pattern : patterns_) {
      Tokens smaller;
      for (const std::string_view piece : pieces) add_parts(piece, *pattern, smaller);
      pieces = std::move(smaller);
    }
    for (const std::string_view piece : pieces) add(piece, tokens);
  }

  void add_parts(std::string_view text, const RE2& separator, Tokens& parts) const {
    std::size_t begin = 0;
    std::string_view match;
    while (begin <= text.size() && find(separator, text, begin, &match)) {
      const auto end = static_cast<std::size_t>(match.data() - text.data());
      add(text.substr(begin, end - begin), parts);
      begin = behind(text, match);
    }
    if (begin < text.size()) add(text.substr(begin), parts);
  }

  std::int64_t least_;
  bool has_marks_;
  std::string_view padding_;
  std::string_view expression_;
  bool cuts_characters_ = false;
  std::vector<std::unique_ptr<RE2>> patterns_;
};

Status check_tokenizer(const sluice_op& op) {
  if (Status status = check_type(op, 0, kTexts); !status.is_ok()) return status;
  const plugin::Attributes attributes(op);
  const std::string error = Cutter(attributes).error();
  return error.empty() ? plugin::ok() : refuse(op, "no RE2 expression: " + error);
}

Status check_tokens(const sluice_op& op) {
  Status status = check_tokenizer(op);
  return status.is_ok() ? check_type(op, 1, Types<std::int64_t>()) : status;
}

Status run_width(const Call& call) {
  const Cutter cutter(call.attributes());
  std::int64_t width = 0;
  for (const Text& text : call.input_elements<Text>(0)) {
    width = std::max(width, std::ssize(cutter.cut(text)));
  }
  if (Status status = expect_dims(call, 0, {}); !status.is_ok()) return status;
  call.output_elements<std::int64_t>(0)[0] = width;
  return plugin::ok();
}

/// Tokens point into the text that they are cut from.
Status run_tokens(const Call& call) {
  const Ints width = read_integers(call.input(1));
  const Dims input = dims_of(call.input(0));
  Ints expected(input.begin(), input.end());
  expected.push_back(width.empty() ? -1 : width.front());
  if (Status status = expect_dims(call, 0, expected); !status.is_ok()) return status;
  const Cutter cutter(call.attributes());
  const Text padding = call.keep(std::string(cutter.padding()));
  const auto row = static_cast<std::size_t>(width.front());
  const auto x = call.input_elements<Text>(0);
  const auto y = call.output_elements<Text>(0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Tokens tokens = cutter.cut(x[i]);
    if (tokens.size() > row) return refuse(call.op(), "width is less than the number of tokens");
    for (std::size_t k = 0; k < row; ++k) {
      y[i * row + k] = padding;
      if (k >= tokens.size()) continue;
      y[i * row + k] = sluice_text{tokens[k].data(), static_cast<std::int64_t>(tokens[k].size())};
    }
  }
  return plugin::ok();
}

}  // namespace

std::vector<KernelEntry> tokenizer_kernels() {
  return {
      {.domain = "sluice",
       .kind = "TokenizerTexts",
       .run = run_tokens,
       .check = check_tokens,
       .num_required_inputs = 2,
       .output_types = {plugin::kString}},
      {.domain = "sluice",
       .kind = "TokenizerWidth",
       .run = run_width,
       .check = check_tokenizer,
       .output_types = {plugin::kI64}},
  };
}

}  // namespace sluice::reference
