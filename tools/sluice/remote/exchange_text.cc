#include "sluice/remote/exchange_text.h"

#include "sluice/remote/remote.h"

namespace sluice::tool {

Result<std::uint64_t> parse_exchange(const std::string& text) {
  if (!text.starts_with(kExchangePrefix)) {
    return invalid_argument("\"{}\" is not of the form exchange:INDEX", text);
  }
  return parse_handle(text.substr(kExchangePrefix.size()));
}

Result<OfferText> parse_offer(const std::string& text) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos || at + 1 == text.size()) {
    return invalid_argument(
        "\"{}\" is not of the form exchange:INDEX@KEY, which `sluice offer` "
        "prints",
        text);
  }
  return OfferText{SLUICE_TRY(parse_exchange(text.substr(0, at))), text.substr(at + 1)};
}

}  // namespace sluice::tool
