// A number that one thread at a time raises and any thread reads.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::runtime {

/// Cheaper than an atomic addition: writers take turns by other means, such as a scheduler's drive
/// token.
inline void add_alone(std::atomic<std::int64_t>& value, std::int64_t amount) {
  value.store(value.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace sluice::runtime
