// Clients that use a daemon for as long as a soak lasts, and get over its devices' faults.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <string>

#include "rpc/client.h"

namespace sluice::testing {

/// Durations in buckets of half a per cent, without memory that grows. Safe across threads.
class Durations {
 public:
  void add(std::int64_t duration_ns);
  /// 0 if there are none. Requires: 0 < share <= 1.
  double percentile_ns(double share) const;
  std::int64_t count() const;

 private:
  static constexpr std::size_t kBuckets = 4096;
  std::array<std::atomic<std::int64_t>, kBuckets> counts_ = {};
};

/// What all clients share. Safe across threads.
struct Soak {
  std::string address;
  std::string package;
  std::atomic<bool> is_over = false;
  /// Where single requests' times go now; null: nowhere.
  std::atomic<Durations*> durations = nullptr;
  std::atomic<std::int64_t> num_answered = 0;
  std::atomic<std::int64_t> num_loads = 0;
  std::atomic<std::int64_t> num_resets = 0;

  /// Counts what a fault may cause; anything else is remembered as what should not be.
  void note(const Status& status);
  /// By runtime code.
  std::map<std::int32_t, std::int64_t> errors() const;
  /// The first that should not be; ok if there was none.
  Status first_wrong() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::int32_t, std::int64_t> errors_;
  Status first_wrong_;
};

// Each until `is_over`.

/// One model, single requests, one after the other, at a pace that leaves processors free.
void ask_one_by_one(Soak& soak, unsigned seed);
/// One model, requests over streams.
void ask_over_streams(Soak& soak, unsigned seed);
/// Sessions that come, load, ask a little and go.
void come_and_go(Soak& soak, unsigned seed);

}  // namespace sluice::testing
