// Who is a guest, and what it has used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "guest/wire/calls.h"

namespace sluice::guest {

/// Counts of one guest. Its own thread writes, others read.
struct GuestUse {
  std::int32_t process = 0;  ///< as its socket says; 0: unknown
  std::int64_t begin_ns = system_clock().now_ns();
  std::atomic<std::uint64_t> memory_bytes = 0;  ///< of the device
  std::atomic<std::uint64_t> num_calls = 0;
  std::atomic<std::uint64_t> num_launches = 0;  ///< of kernels and graphs
  std::atomic<std::uint64_t> to_device_bytes = 0;
  std::atomic<std::uint64_t> from_device_bytes = 0;
};

/// The guests of a proxy. Safe across threads.
class GuestList {
 public:
  /// A guest is in the list as long as what this gives lives.
  std::shared_ptr<GuestUse> add(std::int32_t process);
  /// In the order in which they came, without `except`; at most `max`.
  std::vector<GuestLine> lines(const GuestUse* except, std::size_t max) const;

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::list<std::weak_ptr<const GuestUse>> guests_;
};

}  // namespace sluice::guest
