// The outputs of a request that stay in the exchange.
#pragma once

#include <cstdint>
#include <vector>

#include "sandbox/exchange.h"

namespace sluice::sandbox {

struct KeptOutputs {
  Exchange* exchange = nullptr;  ///< outlives the request; null: none stay
  OwnerId owner = {};
  std::vector<bool> is_kept = {};  ///< by signature index; may be shorter
  std::int64_t ttl_ns = 0;         ///< 0: the default

  bool keeps(std::size_t output) const { return output < is_kept.size() && is_kept[output]; }
};

}  // namespace sluice::sandbox
