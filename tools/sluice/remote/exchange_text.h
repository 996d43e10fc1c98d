// Tensors of the exchange as commands write them.
#pragma once

#include <string>

#include "base/result.h"

namespace sluice::tool {

inline constexpr std::string_view kExchangePrefix = "exchange:";

/// A tensor that its daemon offers to others.
struct OfferText {
  std::uint64_t exchange = 0;
  std::string key;
};

/// "exchange:17". Fails: kInvalidArgument for another form.
Result<std::uint64_t> parse_exchange(const std::string& text);
/// "exchange:17@KEY". Fails: kInvalidArgument for another form.
Result<OfferText> parse_offer(const std::string& text);

}  // namespace sluice::tool
