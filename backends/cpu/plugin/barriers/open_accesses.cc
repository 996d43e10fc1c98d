#include "plugin/barriers/open_accesses.h"

#include <algorithm>
#include <iterator>

namespace sluice::cpu {

/// Makes `at` a border of ranges if it lies within one.
void OpenAccesses::split_at(std::int32_t binding, std::uintptr_t at) {
  auto it = ranges_.lower_bound({binding, at});
  if (it == ranges_.begin()) return;
  --it;
  if (it->first.first != binding || it->second.end <= at) return;
  ranges_.emplace_hint(std::next(it), Key(binding, at), it->second);
  it->second.end = at;
}

void OpenAccesses::add(const Access& access) {
  if (access.begin >= access.end) return;
  latest_.push_back(access);
  if (latest_.size() < kMostLatest) return;
  for (const Access& each : latest_) add_range(each);
  latest_.clear();
}

void OpenAccesses::add_range(const Access& access) {
  const std::uint8_t kind = kind_of(access.write, access.serial);
  split_at(access.binding, access.begin);
  split_at(access.binding, access.end);
  std::uintptr_t at = access.begin;
  for (auto it = ranges_.lower_bound({access.binding, at}); at < access.end; ++it) {
    const bool is_there = it != ranges_.end() && it->first.first == access.binding;
    const std::uintptr_t next =
        is_there && it->first.second < access.end ? it->first.second : access.end;
    if (at < next) it = ranges_.emplace_hint(it, Key(access.binding, at), Range{next, 0});
    it->second.kinds |= kind;
    at = it->second.end;
  }
}

bool OpenAccesses::conflicts_with(const Access& access) const {
  const auto conflicts = [&](const Access& other) {
    return access.binding == other.binding && access.begin < other.end &&
           other.begin < access.end && (access.write || other.write) &&
           !(access.serial && other.serial);
  };
  return std::ranges::any_of(latest_, conflicts) ||
         (!ranges_.empty() && has_conflicting_range(access));
}

bool OpenAccesses::has_conflicting_range(const Access& access) const {
  std::uint8_t bad = 0;
  for (const bool write : {false, true}) {
    for (const bool serial : {false, true}) {
      if (!access.write && !write) continue;
      if (access.serial && serial) continue;
      bad |= kind_of(write, serial);
    }
  }
  auto it = ranges_.lower_bound({access.binding, access.begin});
  if (it != ranges_.begin()) {
    const auto before = std::prev(it);
    if (before->first.first == access.binding && before->second.end > access.begin) it = before;
  }
  for (; it != ranges_.end() && it->first.first == access.binding && it->first.second < access.end;
       ++it) {
    if ((it->second.kinds & bad) != 0) return true;
  }
  return false;
}

}  // namespace sluice::cpu
