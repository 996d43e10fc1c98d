// Where requests wait: for a slot of a model, for a replica, for a thread, for a function's turn.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/request/request.h"

namespace sluice::runtime {

/// A request that waits by itself.
struct PendingRequest {
  std::uint64_t id = 0;  ///< counts up with arrival
  std::int64_t submitted_ns = 0;
  Request request;
  std::int64_t rows = 0;       ///< that may be joined with those of others; 0: it runs alone
  std::int64_t num_ahead = 0;  ///< requests that it found before it, in slots and in the line
  bool is_alone = false;       ///< since a run that it had joined failed
};

/// Its place in a line: the higher priority first, then the nearer deadline, then arrival.
struct Place {
  std::int32_t priority = 0;
  std::int64_t deadline_ns = kNoDeadline;
  std::uint64_t id = 0;

  explicit Place(const PendingRequest& pending) : Place(pending.request, pending.id) {}
  Place(const Request& request, std::uint64_t arrival)
      : priority(request.priority), deadline_ns(request.deadline_ns), id(arrival) {}

  bool operator<(const Place& other) const {
    if (priority != other.priority) return priority > other.priority;
    if (deadline_ns != other.deadline_ns) return deadline_ns < other.deadline_ns;
    return id < other.id;
  }
};

/// Requests in the order of their places. The oldest request, whatever its priority, lets no more
/// than 19 of a higher one pass; only a request of the lowest priority of all, which a shadow's
/// copy has, waits for all others. `Waiting` is what a line knows of each. Not thread-safe, and not
/// bounded: who owns a line refuses requests over its limit. Every operation is logarithmic in the
/// number of requests, except `take_all`, because a line may be 65,536 long and its owner looks at
/// it in every step.
template <typename Waiting = PendingRequest>
class WaitingLine {
 public:
  /// Requires: no request in line has the id. One that comes back gets its old place.
  void push(const Place& place, Waiting&& waiting) {
    if (place.deadline_ns != kNoDeadline) deadlines_.emplace(place.deadline_ns, place.id);
    by_id_[place.id] = requests_.emplace(place, std::move(waiting)).first;
  }
  void push(PendingRequest&& pending) { push(Place(pending), std::move(pending)); }

  /// Null if nobody waits.
  const Waiting* front() const { return requests_.empty() ? nullptr : &requests_.begin()->second; }
  /// The one behind it; null if nobody else waits.
  const Waiting* second() const {
    return requests_.size() < 2 ? nullptr : &std::next(requests_.begin())->second;
  }
  /// The one that came first; null if nobody waits.
  const Waiting* oldest() const {
    return by_id_.empty() ? nullptr : &by_id_.begin()->second->second;
  }
  /// How many waiting requests are ahead of a new one; 0 for one that more than 64 are behind.
  std::int64_t num_ahead(const Request& request) const {
    const Place place(request, kLast);
    std::int64_t behind = 0;
    for (auto it = requests_.rbegin(); it != requests_.rend() && place < it->first; ++it) {
      if (++behind > kMostBehind) return 0;
    }
    return std::ssize(requests_) - behind;
  }
  /// Calls `visit` with each, in order, until it returns false.
  template <typename Visit>
  void visit(const Visit& visit) const {
    for (const auto& [place, waiting] : requests_) {
      if (!visit(waiting)) return;
    }
  }
  /// Removes and returns the first request.
  std::optional<Waiting> pop() {
    if (requests_.empty()) return std::nullopt;
    count_passing(requests_.begin());
    return remove(requests_.begin());
  }
  /// Before a run is taken: puts the oldest request first if others of higher priority have passed
  /// it often enough. Not within a run, whose requests were chosen by `visit`.
  void put_passed_first() {
    if (num_passing_ < kMostPassing) return;
    num_passing_ = 0;
    const auto oldest = first_come();
    if (oldest == requests_.end()) return;
    auto node = requests_.extract(oldest);
    node.key().priority = std::numeric_limits<std::int32_t>::max();
    const auto placed = requests_.insert(std::move(node)).position;
    by_id_[placed->first.id] = placed;
  }
  std::optional<Waiting> take(std::uint64_t id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return std::nullopt;
    count_passing(found->second);
    return remove(found->second);
  }
  /// Removes and returns the requests whose deadline is `now_ns` or earlier.
  std::vector<Waiting> take_expired(std::int64_t now_ns) {
    std::vector<Waiting> expired;
    while (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
      expired.push_back(remove(by_id_.at(deadlines_.begin()->second)));
    }
    return expired;
  }
  /// In order.
  std::vector<Waiting> take_all() {
    std::vector<Waiting> all;
    all.reserve(requests_.size());
    for (auto& [place, waiting] : requests_) all.push_back(std::move(waiting));
    requests_.clear();
    by_id_.clear();
    deadlines_.clear();
    return all;
  }

  bool empty() const { return requests_.empty(); }
  std::size_t size() const { return requests_.size(); }
  /// kNoDeadline if no request has one.
  std::int64_t next_deadline_ns() const {
    return deadlines_.empty() ? kNoDeadline : deadlines_.begin()->first;
  }

 private:
  static constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::int64_t kMostBehind = 64;
  static constexpr std::int64_t kMostPassing = 19;
  using Requests = std::map<Place, Waiting>;

  /// The oldest request that is not to wait for all others, as a shadow's copy is.
  typename Requests::iterator first_come() {
    for (const auto& [id, at] : by_id_) {
      if (at->first.priority != std::numeric_limits<std::int32_t>::min()) return at;
    }
    return requests_.end();
  }

  /// A request that leaves the front ahead of the oldest.
  void count_passing(typename Requests::iterator leaving) {
    if (leaving != requests_.begin()) return;
    const auto oldest = first_come();
    const bool passes =
        oldest != requests_.end() && oldest->first.priority < leaving->first.priority;
    num_passing_ = passes ? num_passing_ + 1 : 0;
  }

  Waiting remove(typename Requests::iterator at) {
    by_id_.erase(at->first.id);
    deadlines_.erase({at->first.deadline_ns, at->first.id});
    Waiting removed = std::move(at->second);
    requests_.erase(at);
    return removed;
  }

  Requests requests_;
  std::map<std::uint64_t, typename Requests::iterator> by_id_;
  std::set<std::pair<std::int64_t, std::uint64_t>> deadlines_;  ///< with ids; only real deadlines
  std::int64_t num_passing_ = 0;  ///< requests that passed the oldest one lately
};

}  // namespace sluice::runtime
