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

/// A reply stays until it has reached somebody, over whichever connection, or its time is over.
/// Safe across threads.
///
///     post --> in flight --(the model answers)--> answered --take--> on its way --delivered-->
///     spent
///                                                  |    ^                |
///                                                  |    `---put_back-----'
///                                                  `--(too old)--> spent
class PostedTable : public std::enable_shared_from_this<PostedTable> {
 public:
  /// Requests in flight and replies together.
  static constexpr std::size_t kMost = 4096;
  /// An older reply goes with the next request, or with `expire`: nobody may keep the memory of all
  /// users for ever.
  static constexpr std::int64_t kKeptNs = 60'000'000'000;
  /// What the door makes of a reply, in the request's on_done.
  using Answer = std::shared_ptr<void>;

  /// `clock` outlives this.
  explicit PostedTable(const Clock& clock = system_clock()) : clock_(clock) {}
  PostedTable(const PostedTable&) = delete;
  PostedTable& operator=(const PostedTable&) = delete;
  ~PostedTable() = default;

  /// `on_kept` runs on any thread, without a lock of the table, with the time at which `expire`
  /// drops the oldest reply. Set it before the first request.
  void set_on_kept(std::function<void(std::int64_t over_ns)> on_kept) {
    on_kept_ = std::move(on_kept);
  }
  /// Drops replies that are too old. Returns when the next one is; kNoDeadline: there is none.
  std::int64_t expire();

  /// The id is one of HandleKind::kPosted. `answer` may be taken once `request.on_done` was called.
  /// The oldest reply goes where there are too many. Fails: kOutOfResources for too many in flight;
  /// the reason of `close`; as FlightTable::post.
  Result<std::uint64_t> post(const std::shared_ptr<ModelRef>& model,
                             std::shared_ptr<telemetry::Observation> observation,
                             runtime::Request& request, RequestLimits limits, Answer answer);
  /// Whoever takes an answer calls `delivered` or `put_back`.
  /// Fails: kPending, also while the answer is on its way to another caller; kInvalidHandle for an
  ///        id that is unknown or spent; the reason of `close`.
  Result<Answer> take(std::uint64_t id);
  void delivered(std::uint64_t id);
  /// It did not reach the client.
  void put_back(std::uint64_t id, Answer answer);
  /// Calls `on_end` once: as soon as `take` would not say kPending, when another caller comes to
  /// wait, or by `leave` with the same `who`.
  void await(std::uint64_t id, const void* who, std::function<void()> on_end);
  void leave(std::uint64_t id, const void* who);
  /// No effect on an answered request. Fails: kInvalidHandle; the reason of `close`.
  Status cancel(std::uint64_t id);
  /// Cancels all and forgets the replies; nothing is posted any more. `reason` is an error.
  void close(const Status& reason);

 private:
  enum class State : std::uint8_t { kInFlight, kAnswered, kOnItsWay };
  struct Posted {
    Answer answer;
    State state = State::kInFlight;
    std::int64_t done_ns = kNoDeadline;  ///< until it is answered
    const void* who = nullptr;
    std::function<void()> on_end = {};  ///< of who waits; empty: nobody
  };

  using Entries = std::map<std::uint64_t, Posted>;

  void finish(std::uint64_t id);
  // These require that mutex_ is held. Answers are destroyed without it.
  Status spent(std::uint64_t id) const;
  /// Returns what to tell on_kept_; kNoDeadline: nothing.
  std::int64_t answered(Posted& entry, std::uint64_t id);
  Answer remove(Entries::iterator entry);
  /// Drops replies that are too old, and the oldest while there are more than `most` entries.
  std::vector<Answer> make_room(std::size_t most);

  void tell(std::int64_t over_ns) const {
    if (over_ns != kNoDeadline && on_kept_) on_kept_(over_ns);
  }

  const Clock& clock_;
  std::function<void(std::int64_t over_ns)> on_kept_;
  FlightTable flights_;
  std::mutex mutex_;  ///< never held while an on_end, the flights or a model are called
  Status closed_;     ///< why; ok: it is open
  Entries posted_;
  std::set<std::pair<std::int64_t, std::uint64_t>> answered_;  ///< done_ns and id
};

}  // namespace sluice::dispatch
