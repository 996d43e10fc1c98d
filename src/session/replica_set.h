// Several copies of a model as one request sink, with a line of requests for busy times.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/parking_spot.h"
#include "base/serial_pump.h"
#include "runtime/line/waiting_line.h"
#include "terms/replicas.h"

namespace sluice::session {

/// Submits each request to a replica, chosen by the fewest runs in flight or in turn; requests that
/// a replica joins go to it until its run is full. If all replicas are full, a request waits in
/// line until a replica has room, its deadline passes, or it is cancelled; its id is valid until
/// its reply.
///
/// Safe from any thread. If a replica has room, a request takes no lock except the replica's:
/// callers share one atomic count per replica. The line has a lock, which no thread holds while it
/// submits. A timer, `expire` and `wait` apply the deadlines of the line.
class ReplicaSet final : public runtime::RequestSink {
 public:
  using Replicas = std::vector<std::shared_ptr<runtime::RequestSink>>;

  /// Fails: kInvalidArgument without replicas, or for different signatures.
  static Result<std::shared_ptr<ReplicaSet>> create(const Replicas& replicas,
                                                    const terms::ReplicaOptions& options);
  ~ReplicaSet() override;

  const terms::Signature& signature() const override { return replicas_.front().sink->signature(); }
  /// The sum over the replicas, plus the line.
  int depth() const override;
  std::int64_t batch_rows() const override { return replicas_.front().sink->batch_rows(); }
  Clock& clock() const override { return replicas_.front().sink->clock(); }
  Result<std::uint64_t> submit(runtime::Request& request) override;
  bool cancel(std::uint64_t id) override;
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override;
  void tell_waiters() override;

  /// Ends expired requests of the line, and tries the replicas again. Returns the time of the next
  /// call; kNoDeadline if no waiting request has a deadline.
  std::int64_t expire();

  /// Cancels the line, refuses new requests, and waits for the replies of the replicas. May be
  /// called again. Not from a callback.
  void shutdown();

 private:
  struct Replica {
    std::shared_ptr<runtime::RequestSink> sink;
    std::atomic<int> in_flight = 0;  ///< places of requests that may occupy the replica
    std::atomic<int> open = 0;       ///< requests that may, or whose on_done is running
  };
  /// Replaces a caller's on_done while a replica has the request.
  struct OnDone {
    ReplicaSet* set = nullptr;
    Replica* replica = nullptr;
    int places = 1;
    std::function<void(runtime::Reply)> callers;
    void operator()(runtime::Reply reply);
  };

  explicit ReplicaSet(const terms::ReplicaOptions& options) : options_(options) {}
  Replica* choose(std::size_t turn);
  int places_of(const runtime::Request& request) const;
  Result<std::uint64_t> offer(runtime::Request& request);
  Result<std::uint64_t> enter_line(runtime::Request& request);
  void start_waiting();
  void keep_time();
  std::optional<runtime::PendingRequest> pop_line();
  void put_back(runtime::PendingRequest waiting);
  void count_waiting();
  void end(const runtime::PendingRequest& waiting, const Status& why);
  void wake_parked();

  terms::ReplicaOptions options_;
  std::deque<Replica> replicas_;
  std::atomic<std::size_t> turn_ = 0;
  std::atomic<bool> is_shut_down_ = false;
  SerialPump pump_;

  std::atomic<std::size_t> num_waiting_ = 0;
  std::mutex mutex_;  // guards the members below
  runtime::WaitingLine<> line_;
  std::map<std::uint64_t, std::uint64_t> left_line_;  // id in line to id in flight
  std::uint64_t num_lined_up_ = 0;

  std::mutex park_mutex_;
  std::condition_variable changed_;
  std::atomic<int> num_parked_ = 0;
  std::atomic<std::uint64_t> num_news_ = 0;  ///< counts submissions and replies

  std::atomic<bool> has_waiting_ = false;  ///< a request entered the line since the timer's look
  ParkingSpot timer_spot_;
  std::thread timer_;
};

}  // namespace sluice::session
