#include "runtime/inference/waiting_line.h"

namespace sluice::runtime {

void WaitingLine::push(PendingRequest pending) {
  const Key key = {pending.request.priority, pending.request.deadline_ns, pending.id};
  if (key.deadline_ns != kNoDeadline) deadlines_.emplace(key.deadline_ns, key.id);
  by_id_[key.id] = requests_.emplace(key, std::move(pending)).first;
}

PendingRequest WaitingLine::remove(Requests::iterator at) {
  by_id_.erase(at->first.id);
  deadlines_.erase({at->first.deadline_ns, at->first.id});
  PendingRequest removed = std::move(at->second);
  requests_.erase(at);
  return removed;
}

std::optional<PendingRequest> WaitingLine::pop() {
  if (requests_.empty()) return std::nullopt;
  return remove(requests_.begin());
}

std::optional<PendingRequest> WaitingLine::take(std::uint64_t id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  return remove(found->second);
}

std::vector<PendingRequest> WaitingLine::take_expired(std::int64_t now_ns) {
  std::vector<PendingRequest> expired;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
    expired.push_back(remove(by_id_.at(deadlines_.begin()->second)));
  }
  return expired;
}

std::vector<PendingRequest> WaitingLine::take_all() {
  std::vector<PendingRequest> all;
  all.reserve(requests_.size());
  for (auto& [key, pending] : requests_) all.push_back(std::move(pending));
  requests_.clear();
  by_id_.clear();
  deadlines_.clear();
  return all;
}

}  // namespace sluice::runtime
