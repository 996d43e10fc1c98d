// A counter with one writer at a time and any number of readers.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::runtime {

/// Cheaper than an atomic addition. Requires: a lock, such as a driver's token, serialises writers.
inline void add_alone(std::atomic<std::int64_t>& value, std::int64_t amount) {
  value.store(value.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace sluice::runtime
