// Two hosts on one machine: network namespaces that a pair of virtual interfaces joins.
#pragma once

#include <string>

#include "base/result.h"

namespace sluice::bench {

/// Needs root, and the program `ip`. The namespaces go with the object. Used by one thread.
class TwoHosts {
 public:
  /// Fails: kPermissionDenied, kUnavailable: the reason why this machine has none.
  static Result<TwoHosts> create();
  TwoHosts(TwoHosts&& other) noexcept;
  TwoHosts& operator=(TwoHosts&&) = delete;
  ~TwoHosts();

  /// The calling thread, and what it starts, is on the host (0 or 1) from now on.
  Status enter(int host) const;
  static const char* address(int host) { return host == 0 ? "10.213.0.1" : "10.213.0.2"; }

 private:
  explicit TwoHosts(std::string name) : name_(std::move(name)) {}
  std::string host(int number) const { return name_ + std::to_string(number); }

  std::string name_;  ///< empty: moved from
};

}  // namespace sluice::bench
