#include "sandbox/fair_schedule.h"

#include <algorithm>

namespace sluice::sandbox {

void FairSchedule::add(FunctionId id, std::int32_t share, std::int32_t priority) {
  entries_[id] = {share, priority, 0, false};
}

void FairSchedule::remove(FunctionId id) {
  set_ready(id, false);
  entries_.erase(id);
}

void FairSchedule::set_ready(FunctionId id, bool is_ready) {
  Entry& entry = entries_.at(id);
  if (entry.is_ready == is_ready) return;
  entry.is_ready = is_ready;
  Level& level = levels_[entry.priority];
  if (!is_ready) {
    level.ready.erase({entry.used, id});
    return;
  }
  entry.used = std::max(entry.used, level.floor);
  level.ready.insert({entry.used, id});
}

std::optional<FunctionId> FairSchedule::next() const {
  for (const auto& [priority, level] : levels_) {
    if (!level.ready.empty()) return level.ready.begin()->second;
  }
  return std::nullopt;
}

void FairSchedule::charge(FunctionId id, std::int64_t used_ns) {
  Entry& entry = entries_.at(id);
  Level& level = levels_[entry.priority];
  // The floor is where the function began its turn, not where it ended: a newcomer gets the turn
  // after it at the latest.
  level.floor = std::max(level.floor, entry.used);
  const std::int64_t used = entry.used + used_ns * kMaxShare / entry.share;
  if (entry.is_ready) {
    level.ready.erase({entry.used, id});
    level.ready.insert({used, id});
  }
  entry.used = used;
}

}  // namespace sluice::sandbox
