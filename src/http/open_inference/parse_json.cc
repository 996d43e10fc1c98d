// simdjson refuses whole numbers beyond 64 bits. They are JSON all the same, and what JavaScript
// writes for every float from 2^64 to 1e21: an exponent makes them doubles.
#include "http/open_inference/parse_json.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

#include "base/utf8.h"
#include "http/open_inference/json_elements.h"

namespace sluice::http {
namespace {

/// From `at`, a quote, to behind the quote that ends the text.
std::size_t skip_text(std::string_view body, std::size_t at) {
  for (++at; at < body.size() && body[at] != '"'; ++at) {
    if (body[at] == '\\') ++at;
  }
  return std::min(at + 1, body.size());
}

template <typename T>
bool fits(std::string_view digits) {
  T value{};
  return std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc();
}

bool is_wide_integer(std::string_view number) {
  if (number.find_first_of(".eE+") != std::string_view::npos) return false;
  return number[0] == '-' ? !fits<std::int64_t>(number) : !fits<std::uint64_t>(number);
}

std::string with_exponents(std::string_view body) {
  std::string text;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t begin = at;
    if (body[at] == '"') {
      at = skip_text(body, at);
      text += body.substr(begin, at - begin);
    } else if (body[at] == '-' || (body[at] >= '0' && body[at] <= '9')) {
      at = std::min(body.find_first_not_of("0123456789.eE+-", at), body.size());
      const std::string_view number = body.substr(begin, at - begin);
      text += number;
      if (is_wide_integer(number)) text += "e0";
    } else {
      text += body[at++];
    }
  }
  return text;
}

/// Whether a word that Python and JavaScript write for a number stands outside of texts.
bool has_no_number(std::string_view body) {
  for (std::size_t at = 0; at < body.size();) {
    if (body[at] == '"') {
      at = skip_text(body, at);
    } else if (body.substr(at).starts_with("NaN") || body.substr(at).starts_with("Infinity")) {
      return true;
    } else {
      ++at;
    }
  }
  return false;
}

}  // namespace

Result<simdjson::dom::element> parse_json(simdjson::dom::parser& parser, std::string_view text) {
  // RFC 8259, 8.1: a reader may pass over a byte order mark.
  text = without_mark(text);
  auto parsed = parser.parse(text.data(), text.size(), false);
  if (parsed.error() == simdjson::NUMBER_ERROR) {
    parsed = parser.parse(simdjson::padded_string(with_exponents(text)));
  }
  if (parsed.error() && has_no_number(text)) {
    return bad_input("the body is no JSON: it has no NaN and no Infinity; send binary data");
  }
  if (parsed.error() == simdjson::NUMBER_ERROR) {
    return bad_input(
        "the body holds a number that is no JSON, or beyond the range of 64-bit floats");
  }
  if (parsed.error()) {
    return bad_input("the body is no JSON: {}", simdjson::error_message(parsed.error()));
  }
  return parsed.value_unsafe();
}

}  // namespace sluice::http
