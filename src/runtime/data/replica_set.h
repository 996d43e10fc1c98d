// Several copies of a model, and a line for when all are busy: one sink.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/serial_pump.h"
#include "runtime/request.h"

namespace sluice::runtime {

enum class ReplicaChoice : std::uint8_t { kLeastLoaded, kRoundRobin };

struct ReplicaOptions {
  ReplicaChoice choice = ReplicaChoice::kLeastLoaded;
  /// Requests that wait while every replica has its depth; one more is refused.
  std::size_t most_waiting = 1024;
};

/// Gives each request to a replica that takes it, by least requests in flight or in turn. When all
/// are full, requests wait in line, higher priority first, until one completes, their deadline
/// passes or they are cancelled.
///
/// Safe from any thread. With room in a replica a request takes no lock but that replica's own:
/// callers meet in one atomic count per replica. The line has a lock, which nobody holds while
/// submitting. Time passes for the line in `expire` and in `wait`.
class ReplicaSet final : public RequestSink {
 public:
  /// The replicas are borrowed, and answer all that this gave them before they go.
  /// Fails: kInvalidArgument for no replica, or for replicas of different signatures.
  static Result<std::unique_ptr<ReplicaSet>> create(std::vector<RequestSink*> replicas,
                                                    const ReplicaOptions& options);
  ~ReplicaSet() override;

  const package::Signature& signature() const override {
    return replicas_.front().sink->signature();
  }
  /// The replicas' together, and the line's.
  int depth() const override;
  Clock& clock() const override { return replicas_.front().sink->clock(); }
  Result<std::uint64_t> submit(Request& request) override;
  bool cancel(std::uint64_t id) override;
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override;
  void tell_waiters() override;

  /// Answers requests in line whose deadline has passed, and tries the replicas again. When it
  /// should be called next; kNoDeadline if nothing waits with a deadline.
  std::int64_t expire();

  /// Answers what is in line with kCancelled, refuses what comes, and waits for the replicas'
  /// answers to the rest.
  void shutdown();

 private:
  struct Replica {
    RequestSink* sink = nullptr;
    std::atomic<int> in_flight = 0;  ///< what it may still be busy with
    std::atomic<int> open = 0;       ///< and what is being answered
  };
  /// Stands in for a caller's on_done while a replica has the request.
  struct OnDone {
    ReplicaSet* set = nullptr;
    Replica* replica = nullptr;
    std::function<void(Reply)> callers;
    void operator()(Reply reply);
  };
  /// A request that went through the line; known by its id until it is answered.
  struct Waiting {
    std::uint64_t id = 0;
    Request request;
  };

  explicit ReplicaSet(const ReplicaOptions& options) : options_(options) {}
  Replica* choose(std::size_t turn);
  Result<std::uint64_t> offer(Request& request);
  Result<std::uint64_t> enter_line(Request& request);
  void start_waiting();
  bool pop_line(Waiting& waiting);
  void put_back(Waiting waiting);
  std::deque<Waiting> take_from_line(const std::function<bool(const Waiting&)>& is_meant);
  void wake_parked();

  ReplicaOptions options_;
  std::deque<Replica> replicas_;
  std::atomic<std::size_t> turn_ = 0;
  std::atomic<bool> is_shut_down_ = false;
  SerialPump pump_;

  std::atomic<std::size_t> num_waiting_ = 0;
  std::mutex mutex_;  // of what follows
  std::deque<Waiting> line_;
  std::map<std::uint64_t, std::uint64_t> left_line_;  // id in line to id in flight
  std::uint64_t num_lined_up_ = 0;

  std::mutex park_mutex_;
  std::condition_variable changed_;
  std::atomic<int> num_parked_ = 0;
  std::atomic<std::uint64_t> num_news_ = 0;  ///< requests given to replicas, and answers
};

}  // namespace sluice::runtime
