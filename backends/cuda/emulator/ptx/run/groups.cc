#include "emulator/ptx/run/groups.h"

#include <algorithm>

namespace sluice::cuda::ptx {

Group* Groups::choose() {
  std::size_t best = groups_.size();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].state != Group::State::kReady) continue;
    if (best == groups_.size()) {
      best = i;
      continue;
    }
    const std::size_t depth = groups_[i].returns.size(), best_depth = groups_[best].returns.size();
    if (depth > best_depth || (depth == best_depth && groups_[i].at < groups_[best].at)) best = i;
  }
  if (best == groups_.size()) return nullptr;
  for (std::size_t i = groups_.size(); i-- > 0;) {
    const Group& other = groups_[i];
    const bool joins = i != best && other.at == groups_[best].at &&
                       other.state != Group::State::kAtBarrier &&
                       other.returns == groups_[best].returns;
    if (!joins) continue;
    groups_[best].mask |= other.mask;
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(i));
    if (i < best) --best;
  }
  return &groups_[best];
}

std::uint32_t Groups::next_meeting(const Group& group) const {
  std::uint32_t next = 0xffffffffu;
  for (const Group& other : groups_) {
    if (&other != &group && other.state != Group::State::kAtBarrier && other.at > group.at) {
      next = std::min(next, other.at);
    }
  }
  return next;
}

void Groups::split(std::size_t index, std::uint32_t mask, std::uint32_t at) {
  Group& group = groups_[index];
  group.mask &= ~mask;
  Group other{at, mask, Group::State::kReady, 0, group.returns};
  if (group.mask == 0) {
    group = std::move(other);
  } else {
    groups_.push_back(std::move(other));
  }
}

void Groups::end(std::size_t index, std::uint32_t mask) {
  groups_[index].mask &= ~mask;
  if (groups_[index].mask == 0) groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(index));
  for (Group& group : groups_) {
    if (group.state == Group::State::kAwaitsLanes) group.state = Group::State::kReady;
  }
}

}  // namespace sluice::cuda::ptx
