// Threads that read large bodies and texts, one account's beside another's.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>

#include "base/status.h"
#include "service/call_threads.h"
#include "service/log.h"

namespace sluice::http {

/// Each account has a line of its own, and the lines take turns: a client that sends many requests
/// waits behind its own. Safe across threads.
class AccountThreads {
 public:
  /// All lines together hold 16 times `max_waiting_per_account`. `log` gets what work throws, and
  /// outlives the object.
  AccountThreads(std::size_t max_threads, std::size_t max_waiting_per_account, service::Log& log);

  /// `account`: as service::account_of has it.
  /// Fails: kUnavailable when the account's line is full, or all lines together are; as
  /// service::CallThreads::run. `work` is not run then.
  Status run(std::string_view account, std::function<void()> work);

 private:
  struct Line {
    std::string account;
    std::deque<std::function<void()>> waiting;  ///< never empty
  };

  void run_next();

  const std::size_t max_waiting_per_account_;
  std::mutex mutex_;              ///< taken before that of the threads
  std::list<Line> lines_;         ///< the next turn is the first's
  service::CallThreads threads_;  ///< last: ends with all lines empty
};

}  // namespace sluice::http
