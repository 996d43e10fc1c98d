// Requests that no call waits for, by id.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "dispatch/flight_table.h"

namespace sluice::dispatch {

/// A reply stays until somebody takes it, from whichever connection, or its time is over. Safe
/// across threads.
///
///     post --> in flight --(the model answers)--> answered --take, or too old--> spent
class PostedTable : public std::enable_shared_from_this<PostedTable> {
 public:
  /// Requests in flight and replies together.
  static constexpr std::size_t kMost = 4096;
  /// An older reply goes when the next request is posted or answered: nobody may keep the memory
  /// of all users for ever.
  static constexpr std::int64_t kKeptNs = 60'000'000'000;
  /// What the door makes of a reply, in the request's on_done.
  using Answer = std::shared_ptr<void>;

  /// `clock` outlives this.
  explicit PostedTable(const Clock& clock = system_clock()) : clock_(clock) {}
  PostedTable(const PostedTable&) = delete;
  PostedTable& operator=(const PostedTable&) = delete;
  ~PostedTable() = default;

  /// The id is one of HandleKind::kPosted. `answer` may be taken once `request.on_done` was called.
  /// The oldest reply goes where there are too many. Fails: kOutOfResources for too many in flight;
  /// the reason of `close`; as FlightTable::post.
  Result<std::uint64_t> post(const std::shared_ptr<ModelRef>& model,
                             std::shared_ptr<telemetry::Observation> observation,
                             runtime::Request& request, RequestLimits limits, Answer answer);
  /// Fails: kPending; kInvalidHandle for an id that is unknown or spent; the reason of `close`.
  Result<Answer> take(std::uint64_t id);
  /// Gives back an answer that `take` returned: it did not reach the client.
  void put_back(std::uint64_t id, Answer answer);
  /// Calls `on_end` once: as soon as the request is not in flight, when another caller comes to
  /// wait, or by `leave` with the same `who`.
  void await(std::uint64_t id, const void* who, std::function<void()> on_end);
  void leave(std::uint64_t id, const void* who);
  /// No effect on an answered request. Fails: kInvalidHandle; the reason of `close`.
  Status cancel(std::uint64_t id);
  /// Cancels all and forgets the replies; nothing is posted any more. `reason` is an error.
  void close(const Status& reason);

 private:
  struct Posted {
    Answer answer;
    bool is_done = false;
    std::int64_t done_ns = 0;
    const void* who = nullptr;
    std::function<void()> on_end = {};  ///< of who waits; empty: nobody
  };

  using Entries = std::map<std::uint64_t, Posted>;

  void finish(std::uint64_t id);
  // These require that mutex_ is held. Answers are destroyed without it.
  Status spent(std::uint64_t id) const;
  void answered(Entries::iterator entry);
  Answer remove(Entries::iterator entry);
  /// Drops replies that are too old, and the oldest while there are more than `most` entries.
  std::vector<Answer> make_room(std::size_t most);

  const Clock& clock_;
  FlightTable flights_;
  std::mutex mutex_;  ///< never held while an on_end, the flights or a model are called
  Status closed_;     ///< why; ok: it is open
  Entries posted_;
  std::set<std::pair<std::int64_t, std::uint64_t>> answered_;  ///< done_ns and id
};

}  // namespace sluice::dispatch
