#include "terms/server/trace_context.h"

#include <algorithm>
#include <span>

namespace sluice::terms {
namespace {

constexpr std::size_t kTraceparentBytes = 55;
constexpr std::uint8_t kSampled = 1;

/// -1 for other characters. The standard has lower case alone.
int digit_of(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  return -1;
}

bool read_hex(std::string_view text, std::span<std::uint8_t> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    const int high = digit_of(text[2 * i]);
    const int low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    to[i] = static_cast<std::uint8_t>(16 * high + low);
  }
  return true;
}

std::string hex_of(std::span<const std::uint8_t> bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool is_zero(std::span<const std::uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  TraceContext context;
  std::array<std::uint8_t, 1> version = {};
  std::array<std::uint8_t, 1> flags = {};
  if (text.size() < kTraceparentBytes) return std::nullopt;
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const bool is_hex = read_hex(text, version) && read_hex(text.substr(3), context.trace) &&
                      read_hex(text.substr(36), context.span) && read_hex(text.substr(53), flags);
  constexpr std::uint8_t kForbidden = 0xff;
  if (!is_hex || version[0] == kForbidden) return std::nullopt;
  // A later version may add fields behind another hyphen.
  const bool is_longer = text.size() > kTraceparentBytes;
  if (is_longer && (version[0] == 0 || text[kTraceparentBytes] != '-')) return std::nullopt;
  if (is_zero(context.trace) || is_zero(context.span)) return std::nullopt;
  context.is_sampled = (flags[0] & kSampled) != 0;
  return context;
}

std::string to_traceparent(const TraceContext& context) {
  return "00-" + to_hex(context.trace) + "-" + to_hex(context.span) +
         (context.is_sampled ? "-01" : "-00");
}

std::string to_hex(const TraceId& id) { return hex_of(id); }
std::string to_hex(const SpanId& id) { return hex_of(id); }

}  // namespace sluice::terms
