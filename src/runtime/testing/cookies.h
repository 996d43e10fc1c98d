// Requests in flight whose callers ask for the replies later.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "runtime/handle_table.h"
#include "runtime/request/request.h"

namespace sluice::runtime::testing {

/// Identifies a posted request; stale after its reply was taken.
enum class Cookie : std::uint64_t {};

/// Safe across threads.
class CookieTable {
 public:
  /// Submits and returns. An on_done of the request gets a copy of the reply.
  /// Fails: as RequestSink::submit.
  Result<Cookie> post(const std::shared_ptr<RequestSink>& sink, Request& request);

  /// Takes the reply. kPending: still in flight. kInvalidHandle: unknown, or the reply was taken.
  Reply poll(Cookie cookie);
  /// Waits for the reply until `deadline_ns`, then polls.
  Reply wait(Cookie cookie, std::int64_t deadline_ns);
  /// The finished requests among `cookies`, stale ones included. Takes no reply.
  std::vector<Cookie> completed(std::span<const Cookie> cookies) const;
  /// Ends the request with kCancelled, unless it has finished. Fails: kInvalidHandle.
  Status cancel(Cookie cookie);
  /// Number of requests in flight and of replies not yet taken.
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

}  // namespace sluice::runtime::testing
