// The requests of a client: through a ring in shared memory where one carries them, else on a
// stream. A thread reads the answers of each, and another one keeps time limits.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "rpc/client/client.h"

namespace sluice::client {

using OnAnswer = std::function<void(Result<rpc::client::InferReply>)>;
using OpenStream = std::function<Result<std::unique_ptr<rpc::client::InferStream>>()>;

/// Safe from any thread. Answers come on threads of its own, where an OnAnswer may send and cancel.
/// The daemon keeps time limits; a request that it does not answer until half a second after its
/// limit ends here, with kTimeout. Requests that one thread sends to a model reach the model in
/// this order, whichever way they take.
class Requests {
 public:
  /// `ring`: null for none. `open_stream` opens the stream when a request first needs it. `limit`:
  /// the most that the daemon reads of a stream; one more would block the sender.
  Requests(std::unique_ptr<rpc::client::RingStream> ring, OpenStream open_stream,
           std::int64_t limit);
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  /// Requires: `close` has returned.
  ~Requests() = default;

  /// Returns an id for `cancel`. `on_answer` is called exactly once unless this fails.
  /// Fails: kUnavailable after the end of the stream or the ring; kQueueFull at the limit; as
  /// `open_stream`.
  Result<std::uint64_t> send(std::uint64_t model, const std::vector<terms::NamedTensor>& inputs,
                             const rpc::client::InferOptions& options, OnAnswer on_answer);
  void cancel(std::uint64_t id);
  /// Waits until `is_done`, at most `timeout_ns`, -1 without limit. `is_done` is evaluated after
  /// every answer.
  void wait(const std::function<bool()>& is_done, std::int64_t timeout_ns);
  /// Whether the daemon or the connection has ended the stream or the ring.
  bool is_over() const;
  /// Gives requests in flight `drain_ns`, cancels the rest; all are answered when this returns.
  /// Not from an OnAnswer.
  void close(std::int64_t drain_ns);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// The ways of a request.
  enum Way : std::size_t { kRing, kStream, kNumWays };
  /// An answered request stays until the daemon's answer, which the limit counts.
  struct InFlight {
    OnAnswer on_answer;  ///< empty: the time limit has answered
    std::uint64_t model = 0;
    TimePoint end = TimePoint::max();
    Way way = kRing;
  };
  using Counts = std::array<std::size_t, kNumWays>;
  using Table = std::unordered_map<std::uint64_t, InFlight>;

  Result<std::uint64_t> enter(std::uint64_t model, std::int64_t timeout_ns, OnAnswer on_answer);
  bool may_use_ring(std::uint64_t model);
  std::optional<bool> move_to_stream(std::uint64_t id);
  Result<rpc::client::InferStream*> stream();
  void read(Way way, rpc::client::InferStream& stream);
  void end(Way way, const Status& why);
  void keep_time();
  std::vector<OnAnswer> take_late(TimePoint now);
  void answer(std::uint64_t id, Result<rpc::client::InferReply> reply);
  OnAnswer take(std::uint64_t id);
  Table::iterator erase(Table::iterator it);

  const OpenStream open_stream_;
  const std::size_t limit_;
  std::unique_ptr<rpc::client::RingStream> ring_;

  std::mutex stream_mutex_;  ///< guards the next two; held while the stream opens
  bool is_closed_ = false;
  std::unique_ptr<rpc::client::InferStream> stream_;

  mutable std::mutex mutex_;
  std::condition_variable answered_;
  std::condition_variable has_news_;  ///< for the keeper of time
  Table in_flight_;
  std::unordered_map<std::uint64_t, Counts> models_;  ///< requests in flight, by way
  std::uint64_t next_id_ = 1;
  bool is_over_ = false;
  std::array<std::thread, kNumWays> readers_;
  std::thread time_keeper_;  ///< started by the first request with a time limit
};

}  // namespace sluice::client
