// The requests of a model that have no slot yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/request/request.h"

namespace sluice::runtime {

struct PendingRequest {
  std::uint64_t id = 0;  ///< counts up with arrival
  std::int64_t submitted_ns = 0;
  Request request;
};

/// Ordered by priority, then deadline, then arrival. Not thread-safe, and not bounded: the
/// scheduler refuses requests over its limit. Every operation is logarithmic in the number of
/// requests, except `take_all`, because a line may be 65,536 long and the driver looks at it in
/// every step.
class WaitingLine {
 public:
  void push(PendingRequest pending);
  /// Removes and returns the first request.
  std::optional<PendingRequest> pop();
  std::optional<PendingRequest> take(std::uint64_t id);
  /// Removes and returns the requests whose deadline is `now_ns` or earlier.
  std::vector<PendingRequest> take_expired(std::int64_t now_ns);
  /// In order.
  std::vector<PendingRequest> take_all();

  bool empty() const { return requests_.empty(); }
  std::size_t size() const { return requests_.size(); }
  /// kNoDeadline if no request has one.
  std::int64_t next_deadline_ns() const {
    return deadlines_.empty() ? kNoDeadline : deadlines_.begin()->first;
  }

 private:
  struct Key {
    std::int32_t priority = 0;
    std::int64_t deadline_ns = kNoDeadline;
    std::uint64_t id = 0;

    bool operator<(const Key& other) const {
      if (priority != other.priority) return priority > other.priority;
      if (deadline_ns != other.deadline_ns) return deadline_ns < other.deadline_ns;
      return id < other.id;
    }
  };
  using Requests = std::map<Key, PendingRequest>;

  PendingRequest remove(Requests::iterator at);

  Requests requests_;
  std::unordered_map<std::uint64_t, Requests::iterator> by_id_;
  std::set<std::pair<std::int64_t, std::uint64_t>> deadlines_;  ///< with ids; only real deadlines
};

}  // namespace sluice::runtime
