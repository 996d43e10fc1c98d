// StringConcat, StringSplit, RegexFullMatch.
#include <re2/re2.h>

#include <algorithm>

#include "reference/elementwise.h"
#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

Status check_texts(const sluice_op& op) { return check_type(op, 0, kTexts); }

Status run_concat(const Call& call) {
  const auto x = call.input_elements<Text>(0);
  const auto y = call.input_elements<Text>(1);
  const auto z = call.output_elements<Text>(0);
  const std::array sources = {dims_of(call.input(0)), dims_of(call.input(1))};
  for_each_broadcast(dims_of(call.output(0)), sources, [&](auto i, const auto& at) {
    const std::string_view head = x[static_cast<std::size_t>(at[0])];
    const std::string_view tail = y[static_cast<std::size_t>(at[1])];
    std::string joined(head);
    joined += tail;
    z[static_cast<std::size_t>(i)] = call.keep(joined);
  });
  return plugin::ok();
}

// ---- StringSplit --------------------------------------------------------------------------------

using Pieces = std::vector<std::string_view>;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Splits at white space, without leading and trailing white space except after the last split.
Pieces split_words(std::string_view text, std::int64_t maxsplit) {
  Pieces pieces;
  while (true) {
    const auto begin = std::ranges::find_if_not(text, is_space);
    text.remove_prefix(static_cast<std::size_t>(begin - text.begin()));
    if (text.empty()) return pieces;
    const bool is_last = maxsplit >= 0 && std::ssize(pieces) == maxsplit;
    const auto end = is_last ? text.end() : std::ranges::find_if(text, is_space);
    pieces.push_back(text.substr(0, static_cast<std::size_t>(end - text.begin())));
    text.remove_prefix(pieces.back().size());
  }
}

Pieces split_at(std::string_view text, std::string_view delimiter, std::int64_t maxsplit) {
  Pieces pieces;
  while (maxsplit < 0 || std::ssize(pieces) < maxsplit) {
    const std::size_t found = text.find(delimiter);
    if (found == std::string_view::npos) break;
    pieces.push_back(text.substr(0, found));
    text.remove_prefix(found + delimiter.size());
  }
  pieces.push_back(text);
  return pieces;
}

/// As Python's str.split. An empty delimiter is none.
Pieces split(const Call& call, std::string_view text) {
  const std::string_view delimiter = call.attributes().get_text("delimiter");
  const std::int64_t maxsplit = call.attributes().get_int("maxsplit", -1);
  return delimiter.empty() ? split_words(text, maxsplit) : split_at(text, delimiter, maxsplit);
}

Status run_split_width(const Call& call) {
  std::int64_t width = 0;
  for (const Text& text : call.input_elements<Text>(0)) {
    width = std::max(width, std::ssize(split(call, text)));
  }
  if (Status status = expect_dims(call, 0, {}); !status.is_ok()) return status;
  call.output_elements<std::int64_t>(0)[0] = width;
  return plugin::ok();
}

/// Pieces point into the text that they are cut from.
Status run_split_texts(const Call& call) {
  const auto x = call.input_elements<Text>(0);
  const Ints width = read_integers(call.input(1));
  const Dims input = dims_of(call.input(0));
  Ints expected(input.begin(), input.end());
  expected.push_back(width.empty() ? -1 : width.front());
  Status status = expect_dims(call, 0, expected);
  if (status.is_ok() && call.has_output(1)) status = expect_dims(call, 1, input);
  if (!status.is_ok()) return status;
  const auto row = static_cast<std::size_t>(width.front());
  const auto y = call.output_elements<Text>(0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Pieces pieces = split(call, x[i]);
    if (pieces.size() > row) return refuse(call.op(), "width is less than the number of pieces");
    for (std::size_t k = 0; k < row; ++k) {
      // Places without a piece are empty strings.
      y[i * row + k] = sluice_text{};
      if (k >= pieces.size()) continue;
      y[i * row + k] = sluice_text{pieces[k].data(), static_cast<std::int64_t>(pieces[k].size())};
    }
    if (call.has_output(1)) call.output_elements<std::int64_t>(1)[i] = std::ssize(pieces);
  }
  return plugin::ok();
}

Status check_split_texts(const sluice_op& op) {
  Status status = check_texts(op);
  return status.is_ok() ? check_type(op, 1, Types<std::int64_t>()) : status;
}

// ---- RegexFullMatch -----------------------------------------------------------------------------

RE2 make_pattern(const plugin::Attributes& attributes) {
  RE2::Options options;
  options.set_log_errors(false);
  const std::string_view pattern = attributes.get_text("pattern");
  return RE2(re2::StringPiece(pattern.data(), pattern.size()), options);
}

Status check_match(const sluice_op& op) {
  if (Status status = check_texts(op); !status.is_ok()) return status;
  const RE2 pattern = make_pattern(op);
  if (pattern.ok()) return plugin::ok();
  return refuse(op,
                "pattern \"" + pattern.pattern() + "\" is no RE2 expression: " + pattern.error());
}

Status run_match(const Call& call) {
  if (Status status = expect_dims(call, 0, dims_of(call.input(0))); !status.is_ok()) return status;
  const RE2 pattern = make_pattern(call.attributes());
  const auto x = call.input_elements<Text>(0);
  const auto y = call.output_elements<Bool>(0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::string_view text = x[i];
    y[i] = RE2::FullMatch(re2::StringPiece(text.data(), text.size()), pattern);
  }
  return plugin::ok();
}

}  // namespace

std::vector<KernelEntry> string_kernels() {
  return {
      {.kind = "RegexFullMatch",
       .run = run_match,
       .check = check_match,
       .output_types = {plugin::kBool}},
      {.kind = "StringConcat",
       .run = run_concat,
       .check = check_elementwise<kTexts>,
       .num_required_inputs = 2,
       .output_types = {plugin::kString}},
      {.domain = "sluice",
       .kind = "StringSplitTexts",
       .run = run_split_texts,
       .check = check_split_texts,
       .num_required_inputs = 2,
       .output_types = {plugin::kString, plugin::kI64}},
      {.domain = "sluice",
       .kind = "StringSplitWidth",
       .run = run_split_width,
       .check = check_texts,
       .output_types = {plugin::kI64}},
  };
}

}  // namespace sluice::reference
