// Requests that are on their way to a worker, and what it says of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.h"
#include "shm/ring_client.h"
#include "worker/arena.h"
#include "worker/bundle.h"

namespace sluice::worker {

/// What came of an inference.
struct Answer {
  runtime::RuntimeCode code = runtime::RuntimeCode::kOk;
  Bundle bundle;                       ///< server.h says what is in it
  std::int64_t num_bytes = 0;          ///< of the bundle
  std::shared_ptr<const void> memory;  ///< of the bundle's tensors
};

/// Sent once to a worker, answered once, whatever becomes of it.
struct Inference {
  std::uint64_t model = 0;                 ///< the worker's handle
  Bundle request;                          ///< copied
  std::int64_t room_bytes = 0;             ///< what the answer will probably take
  std::int64_t deadline_ns = kNoDeadline;  ///< on the system's clock
  std::int32_t priority = 0;
  /// On any thread, without a lock held; must not wait.
  std::function<void(Answer)> on_answer;
};

/// The daemon's end of an arena's ring. A worker is confined because it may be taken over: whatever
/// it writes to that memory, each inference has one answer, whose tensors lie in room of its own.
/// Safe across threads, but for `take_one` and `wait`, which are one thread's at a time.
class Flights {
 public:
  /// Of an arena whose ring was not used yet. `name`: "worker of group 3".
  Flights(std::shared_ptr<Arena> arena, std::string name);
  Flights(const Flights&) = delete;
  Flights& operator=(const Flights&) = delete;
  ~Flights() = default;

  /// Sends it on its way; an id for `cancel`. Fails: kQueueFull, kOutOfResources, why `end` was
  /// called; then on_answer is never called.
  Result<std::uint64_t> infer(Inference& inference);
  /// Its answer, which still comes, may be short then.
  void cancel(std::uint64_t id);

  /// Takes the next thing that the worker says, if there is one.
  bool take_one();
  /// Looks for something to take, then sleeps a while; may return for no reason.
  void wait();
  void wake() { ring_.wake(); }
  /// The worker did what no worker of ours does.
  bool is_broken() const { return ring_.is_closed(); }
  /// What is long past its deadline is answered with kTimeout.
  void expire(std::int64_t now_ns);

  /// All that are left are answered with `cause`, and so is what comes.
  void end(const Status& cause);

 private:
  struct Flight {
    Arena::Block request;
    std::shared_ptr<Arena::Block> room;
    std::int64_t deadline_ns = kNoDeadline;
    std::function<void(Answer)> on_answer;  ///< empty once it is answered
  };
  using Table = std::map<std::uint64_t, Flight>;

  void take(const shm::Completion& completion);
  bool ask_for_rest(std::uint64_t id, Flight& flight, std::uint64_t num_bytes);
  Status submit_locked(const shm::Submission& entry);

  const std::shared_ptr<Arena> arena_;
  const std::string name_;
  shm::RingClient ring_;  ///< submits under mutex_
  std::mutex mutex_;
  Status end_;  ///< not ok: why
  std::uint64_t next_id_ = 1;
  Table table_;
};

}  // namespace sluice::worker
