// Hosts from which wrong tokens came lately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "service/clients/allowance.h"

namespace sluice::service {

/// An administrator may choose a secret that can be guessed, and whoever guesses has as many tries
/// as the daemon answers. So each wrong one costs its host a try; a host without tries is refused
/// whatever it says, unless it says a token that was right from there before. Who shares the host
/// with the guesser and comes for the first time waits with it. Safe across threads.
class Guesses {
 public:
  static constexpr Rate kTries = {.burst = 16, .per_second = 2};
  /// Hosts, and tokens with the host they came from, that are kept in mind; beyond them a table
  /// starts anew.
  static constexpr std::size_t kMost = 4096;

  /// Whether an attempt of `host` counts. `token`: the name of the one that it brought; empty for a
  /// wrong one.
  bool take(const std::string& host, std::string_view token, std::int64_t now_ns);

 private:
  std::mutex mutex_;  ///< guards the members below
  std::map<std::string, Allowance> guessers_;
  std::set<std::string, std::less<>> known_;  ///< host and token
};

/// "10.0.0.1" of "10.0.0.1:5555".
std::string host_of(std::string_view address);

}  // namespace sluice::service
