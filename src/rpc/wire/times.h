// The times of gRPC's calls.
#pragma once

#include <chrono>
#include <cstdint>

namespace sluice::rpc::wire {

/// A call without an end looks so often whether its caller is still there.
inline constexpr std::int64_t kLookNs = 500'000'000;
/// So often a thread of connections looks for those that stand still.
inline constexpr int kStillMs = 1000;

/// A deadline for gRPC, which counts the time until then on a clock of its own once it has it. The
/// calendar may jump, so nobody else keeps it or compares it.
inline std::chrono::system_clock::time_point after(std::int64_t duration_ns) {
  return std::chrono::system_clock::now() + std::chrono::nanoseconds(duration_ns);
}

}  // namespace sluice::rpc::wire
