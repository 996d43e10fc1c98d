#include "runtime/inference/request_queue.h"

#include <algorithm>
#include <utility>

namespace sluice::runtime {
namespace {

bool goes_before(const PendingRequest& a, const PendingRequest& b) {
  if (a.request.priority != b.request.priority) return a.request.priority > b.request.priority;
  return a.request.deadline_ns < b.request.deadline_ns;
}

}  // namespace

void RequestQueue::push(PendingRequest pending) { waiting_.push_back(std::move(pending)); }

std::optional<PendingRequest> RequestQueue::pop() {
  // The first of equals is the one that came first.
  const auto best = std::ranges::min_element(waiting_, goes_before);
  if (best == waiting_.end()) return std::nullopt;
  std::optional<PendingRequest> next = std::move(*best);
  waiting_.erase(best);
  return next;
}

std::optional<PendingRequest> RequestQueue::take(std::uint64_t id) {
  const auto found = std::ranges::find(waiting_, id, &PendingRequest::id);
  if (found == waiting_.end()) return std::nullopt;
  std::optional<PendingRequest> taken = std::move(*found);
  waiting_.erase(found);
  return taken;
}

std::vector<PendingRequest> RequestQueue::take_expired(std::int64_t now_ns) {
  const auto is_live = [&](const PendingRequest& pending) {
    return pending.request.deadline_ns > now_ns;
  };
  const auto first = std::stable_partition(waiting_.begin(), waiting_.end(), is_live);
  std::vector<PendingRequest> expired(std::make_move_iterator(first),
                                      std::make_move_iterator(waiting_.end()));
  waiting_.erase(first, waiting_.end());
  return expired;
}

std::vector<PendingRequest> RequestQueue::take_all() { return std::exchange(waiting_, {}); }

std::int64_t RequestQueue::next_deadline_ns() const {
  std::int64_t next = kNoDeadline;
  for (const PendingRequest& pending : waiting_) next = std::min(next, pending.request.deadline_ns);
  return next;
}

}  // namespace sluice::runtime
