// The daemon's requests to a worker process, from submission to answer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "shm/ring_client.h"
#include "worker/protocol/arena.h"
#include "worker/protocol/bundle.h"

namespace sluice::worker {

/// A worker's answer to one request, or the error that stands in for it.
struct Answer {
  RuntimeCode code = RuntimeCode::kOk;
  Bundle bundle;                       ///< setup.h says what is in it
  std::int64_t num_bytes = 0;          ///< of the bundle
  std::shared_ptr<const void> memory;  ///< of the bundle's tensors
};

/// One request to a worker. Flights calls `on_answer` exactly once, even if the worker dies.
struct Inference {
  std::uint64_t model = 0;                 ///< the worker's handle
  Bundle request;                          ///< copied
  std::int64_t room_bytes = 0;             ///< estimated size of the answer
  std::int64_t deadline_ns = kNoDeadline;  ///< on the system's clock
  std::int32_t priority = 0;
  /// On any thread, without a lock held; must not wait.
  std::function<void(Answer)> on_answer;
};

/// The daemon's end of an arena's ring. An attacker may control a worker: whatever the worker
/// writes to the arena, each inference gets one answer, whose tensors lie in memory reserved for
/// it. Safe across threads, except `take_one` and `wait`, which one thread calls at a time.
class Flights {
 public:
  /// Requires: the arena's ring was not used yet. `name`, for messages: "worker of group 3".
  Flights(std::shared_ptr<Arena> arena, std::string name);
  Flights(const Flights&) = delete;
  Flights& operator=(const Flights&) = delete;
  ~Flights() = default;

  /// Submits to the worker and returns an id for `cancel`. Fails: kQueueFull, kOutOfResources, the
  /// cause of `end`; then on_answer is never called.
  Result<std::uint64_t> infer(Inference& inference);
  /// Asks the worker to stop early. The answer still comes, with kCancelled or a result.
  void cancel(std::uint64_t id);

  /// Handles the worker's next completion. False if there is none.
  bool take_one();
  /// Spins, then sleeps until a completion comes or a time limit passes; may wake spuriously.
  void wait();
  void wake() { ring_.wake(); }
  /// The worker broke the ring's protocol.
  bool is_broken() const { return ring_.is_closed(); }
  /// Answers with kTimeout each request whose deadline passed more than 100 ms ago.
  void expire(std::int64_t now_ns);

  /// Answers all requests in flight with `cause` and refuses later ones with it.
  void end(const Status& cause);

 private:
  struct Flight {
    Arena::Block request;
    std::shared_ptr<Arena::Block> room;
    std::shared_ptr<Arena::Block> first_room;  ///< if `room` is a later one: has the outputs
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
  Status end_;  ///< not ok: the cause given to `end`
  std::uint64_t next_id_ = 1;
  Table table_;
};

}  // namespace sluice::worker
