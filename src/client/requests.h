// The requests of a client on one stream, answered by a thread that reads, and by one that keeps
// time limits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "rpc/client/client.h"

namespace sluice::client {

using OnAnswer = std::function<void(Result<rpc::client::InferReply>)>;

/// Safe from any thread. Answers come on threads of its own, where an OnAnswer may send and cancel.
/// The daemon keeps time limits; a request that it does not answer until half a second after its
/// limit ends here, with kTimeout.
class Requests {
 public:
  /// `limit`: the most that the daemon reads of a stream; one more would block the sender.
  Requests(std::unique_ptr<rpc::client::InferStream> stream, std::int64_t limit);
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  /// Requires: `close` has returned.
  ~Requests() = default;

  /// Returns an id for `cancel`. `on_answer` is called exactly once unless this fails.
  /// Fails: kUnavailable after the end of the stream; kQueueFull at the limit.
  Result<std::uint64_t> send(std::uint64_t model,
                             const std::vector<rpc::client::NamedTensor>& inputs,
                             const rpc::client::InferOptions& options, OnAnswer on_answer);
  void cancel(std::uint64_t id);
  /// Waits until `is_done`, at most `timeout_ns`, -1 without limit. `is_done` is evaluated after
  /// every answer.
  void wait(const std::function<bool()>& is_done, std::int64_t timeout_ns);
  /// Whether the daemon or the connection has ended the stream.
  bool is_over() const;
  /// Gives requests in flight `drain_ns`, cancels the rest; all are answered when this returns.
  /// Not from an OnAnswer.
  void close(std::int64_t drain_ns);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// An answered request stays until the daemon's answer, which the limit counts.
  struct InFlight {
    OnAnswer on_answer;  ///< empty: the time limit has answered
    TimePoint end = TimePoint::max();
  };

  void read();
  void keep_time();
  std::vector<OnAnswer> take_late(TimePoint now);
  void answer(std::uint64_t id, Result<rpc::client::InferReply> reply);
  OnAnswer take(std::uint64_t id);

  const std::unique_ptr<rpc::client::InferStream> stream_;
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable answered_;
  std::condition_variable has_news_;  ///< for the keeper of time
  std::unordered_map<std::uint64_t, InFlight> in_flight_;
  std::uint64_t next_id_ = 1;
  bool is_over_ = false;
  std::thread reader_;
  std::thread time_keeper_;  ///< started by the first request with a time limit
};

}  // namespace sluice::client
