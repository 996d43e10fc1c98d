// Threads that take the codings off large bodies and put them on large answers.
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

/// Each account has a line of its own, and the lines take turns: a client that sends many bodies
/// waits behind its own. Safe across threads.
class CodingThreads {
 public:
  static constexpr std::size_t kMaxWaitingPerAccount = 64;

  /// `log` gets what work throws, and outlives the object.
  CodingThreads(std::size_t max_threads, service::Log& log);

  /// `account`: as service::account_of has it.
  /// Fails: kUnavailable when the account's line is full, or all lines together are; as
  /// CallThreads::run. `work` is not run then.
  Status run(std::string_view account, std::function<void()> work);

 private:
  struct Line {
    std::string account;
    std::deque<std::function<void()>> waiting;  ///< never empty
  };

  void run_next();

  std::mutex mutex_;              ///< taken before that of the threads
  std::list<Line> lines_;         ///< the next turn is the first's
  service::CallThreads threads_;  ///< last: ends with all lines empty
};

}  // namespace sluice::http
