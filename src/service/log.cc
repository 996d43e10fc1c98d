#include "service/log.h"

namespace sluice::service {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMaxBytes = 200;
  std::string out = "\"";
  for (const char c : text.substr(0, kMaxBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  if (text.size() > kMaxBytes) out += "...";
  return out + "\"";
}

}  // namespace sluice::service
