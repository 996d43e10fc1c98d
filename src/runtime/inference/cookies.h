// Requests in flight that somebody will ask for later.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "runtime/model/handle_table.h"
#include "runtime/request.h"

namespace sluice::runtime {

/// Identifies a posted request until its answer was taken; then it is stale.
enum class Cookie : std::uint64_t {};

/// Safe across threads.
class CookieTable {
 public:
  /// Submits and returns. The request's on_done, if it has one, is called with a copy of the
  /// answer. Fails: as RequestSink::submit.
  Result<Cookie> post(const std::shared_ptr<RequestSink>& sink, Request& request);

  /// The answer, taken; kPending if there is none yet; kInvalidHandle for a cookie of nobody.
  Reply poll(Cookie cookie);
  /// As poll, after waiting for the answer until `deadline_ns`.
  Reply wait(Cookie cookie, std::int64_t deadline_ns);
  /// Those of `cookies` whose answer is there, stale ones included; takes nothing.
  std::vector<Cookie> completed(std::span<const Cookie> cookies) const;
  /// Has it answered with kCancelled unless it is done. Fails: kInvalidHandle.
  Status cancel(Cookie cookie);
  /// Answers that nobody has taken yet, and requests in flight.
  std::size_t size() const { return posted_.all().size(); }

 private:
  struct Posted {
    std::shared_ptr<RequestSink> sink;
    std::uint64_t id = 0;
    std::atomic<bool> is_done = false;
    Reply reply;  ///< written before is_done, taken once
  };

  HandleTable<Posted> posted_;
};

}  // namespace sluice::runtime
