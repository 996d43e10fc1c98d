#include "rpc/server/session/fields.h"

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/text/base64.h"

namespace sluice::rpc::server {
namespace {

constexpr std::size_t kMaxDigits = 8;

struct Unit {
  char letter;
  std::int64_t ns;
};
constexpr std::array<Unit, 6> kUnits = {{{'H', 3'600'000'000'000},
                                         {'M', 60'000'000'000},
                                         {'S', 1'000'000'000},
                                         {'m', 1'000'000},
                                         {'u', 1'000},
                                         {'n', 1}}};

}  // namespace

std::optional<std::int64_t> parse_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > kMaxDigits + 1) return std::nullopt;
  const auto* unit = std::ranges::find(kUnits, text.back(), &Unit::letter);
  if (unit == kUnits.end()) return std::nullopt;
  std::int64_t count = 0;
  for (const char digit : text.substr(0, text.size() - 1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    count = 10 * count + (digit - '0');
  }
  return count > kNoDeadline / unit->ns ? kNoDeadline : count * unit->ns;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char letter : text) {
    if (letter >= ' ' && letter <= '~' && letter != '%') {
      encoded += letter;
      continue;
    }
    const auto byte = static_cast<unsigned char>(letter);
    encoded += '%';
    encoded += kDigits[byte >> 4U];
    encoded += kDigits[byte & 15U];
  }
  return encoded;
}

std::string base64(std::string_view bytes) {
  std::string text = encode_base64(bytes);
  text.resize(text.find_last_not_of('=') + 1);
  return text;
}

}  // namespace sluice::rpc::server
