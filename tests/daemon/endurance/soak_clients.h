// Clients that use a daemon for as long as a soak lasts, and get over its devices' faults.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <string>

#include "daemon/endurance/paired_medians.h"
#include "rpc/client/client.h"

namespace sluice::testing {

/// What all clients share. Safe across threads.
struct Soak {
  std::string address;
  std::string package;
  std::atomic<bool> is_over = false;
  /// Where the times of single requests and of `echo_as_control` go now; null: nowhere.
  std::atomic<PairedMedians*> times = nullptr;
  std::atomic<std::int64_t> num_answered = 0;
  std::atomic<std::int64_t> num_loads = 0;
  std::atomic<std::int64_t> num_resets = 0;

  /// Counts what a fault may cause; anything else is recorded as an unexpected answer.
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
/// A byte to another thread and back, at the pace of requests: what the machine alone takes.
void echo_as_control(Soak& soak);
/// Sessions that come, load, ask a little and go.
void come_and_go(Soak& soak, unsigned seed);

}  // namespace sluice::testing
