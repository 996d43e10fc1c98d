// Options of several models that serve as one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::terms {

enum class ReplicaChoice : std::uint8_t { kLeastLoaded, kRoundRobin };

struct ReplicaOptions {
  ReplicaChoice choice = ReplicaChoice::kLeastLoaded;
  /// Requests that may wait while every replica is full; one more is refused.
  std::size_t queue_limit = 1024;
  /// For requests without a deadline; 0: none.
  std::int64_t timeout_ns = 0;
  /// Starts a thread that applies the deadlines of waiting requests. Without it the owner calls
  /// `expire`, as tests with their own clock do.
  bool has_timer = true;
};

}  // namespace sluice::terms
