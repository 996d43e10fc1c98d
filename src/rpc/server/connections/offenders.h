// Hosts whose connections broke rules lately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "service/clients/allowance.h"

namespace sluice::rpc::server {

/// A connection that breaks a rule ends, and its client may connect again at once: what the first
/// one cost each would cost. So every breach, and from then on every new connection,
/// costs the host a token. A host without tokens waits for the next one. A host whose bucket is
/// full again is an offender no longer. Safe across threads.
class Offenders {
 public:
  static constexpr Rate kDefault = {.burst = 16, .per_second = 2};
  /// Hosts that are kept in mind; beyond them the table starts anew.
  static constexpr std::size_t kMaxHosts = 4096;

  explicit Offenders(Rate connections = kDefault) : connections_(connections) {}

  /// A connection of the host broke a rule.
  void note(const std::string& host, std::int64_t now_ns);
  bool contains(const std::string& host) const {
    const std::lock_guard lock(mutex_);
    return hosts_.contains(host);
  }
  /// Whether a new connection of the host is served now. Takes a token of an offender.
  bool admit(const std::string& host, std::int64_t now_ns);
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return hosts_.size();
  }

 private:
  const Rate connections_;
  mutable std::mutex mutex_;
  std::map<std::string, Allowance> hosts_;
};

}  // namespace sluice::rpc::server
