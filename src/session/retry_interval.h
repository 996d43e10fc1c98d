// How often a full model is asked again.
#pragma once

#include <cstdint>

namespace sluice::session {

/// While a model is full, its batcher or replica set tries again at this interval: nothing notifies
/// them when requests of other clients end.
inline constexpr std::int64_t kRetryNs = 100'000;

}  // namespace sluice::session
