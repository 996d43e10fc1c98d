#include "runtime/sharing/shares.h"

#include <algorithm>

namespace sluice::runtime {
namespace {

/// A priority that waits gets one part in so many of the time that higher ones use.
constexpr std::int64_t kPartOfLower = 19;
/// Much more than a run of others, behind which a member with a small share falls by right.
constexpr std::int64_t kMostCreditNs = 1'000'000'000;

}  // namespace

Shares::Id Shares::add(int weight, int priority) {
  raise_floor(priority);
  Level& level = levels_[priority];
  const Id id{next_id_++};
  Member member;
  member.weight = weight;
  member.priority = priority;
  member.virtual_ns = level.floor_ns;
  members_.emplace(id, member);
  level.others.emplace(member.virtual_ns, id);
  return id;
}

void Shares::remove(Id id) {
  const auto it = members_.find(id);
  if (it == members_.end()) return;
  const Member& member = it->second;
  raise_floor(member.priority);
  levels_[member.priority].set_of(member).erase({member.virtual_ns, id});
  num_waiting_ -= member.is_waiting ? 1 : 0;
  std::erase(running_, id);
  members_.erase(it);
}

/// By the members that are busy now, before another one becomes busy and starts from the floor.
void Shares::raise_floor(int priority) {
  Level& level = levels_[priority];
  std::optional<std::int64_t> least_ns;
  if (!level.waiting.empty()) least_ns = level.waiting.begin()->first;
  for (const Id id : running_) {
    const Member& member = members_.at(id);
    if (member.priority != priority) continue;
    least_ns = std::min(least_ns.value_or(member.virtual_ns), member.virtual_ns);
  }
  if (least_ns) level.floor_ns = std::max(level.floor_ns, *least_ns);
}

/// The entry goes from set to set with its memory.
void Shares::move(Id id, Member& member, bool is_waiting, std::int64_t virtual_ns) {
  Level& level = levels_[member.priority];
  auto entry = level.set_of(member).extract({member.virtual_ns, id});
  num_waiting_ += (is_waiting ? 1 : 0) - (member.is_waiting ? 1 : 0);
  member.is_waiting = is_waiting;
  member.virtual_ns = virtual_ns;
  entry.value().first = virtual_ns;
  level.set_of(member).insert(std::move(entry));
}

void Shares::set_waiting(Id id, bool is_waiting) {
  Member& member = members_.at(id);
  if (member.is_waiting == is_waiting) return;
  raise_floor(member.priority);
  const bool was_busy = !is_waiting || is_running(id);
  const std::int64_t floor_ns = was_busy ? 0 : levels_[member.priority].floor_ns;
  move(id, member, is_waiting, std::max(member.virtual_ns, floor_ns));
}

bool Shares::is_running(Id id) const { return std::ranges::find(running_, id) != running_.end(); }

std::optional<Shares::Id> Shares::next() const {
  std::optional<Id> first;
  for (const auto& [priority, level] : levels_) {
    if (level.waiting.empty()) continue;
    const bool is_due = level.owed_ns >= level.run_ns;
    if (!first || is_due) first = level.waiting.begin()->second;
    if (is_due) break;  // of several the highest; its run is charged, and the next one's turn comes
  }
  return first;
}

void Shares::begin_run(Id id) {
  const Member& member = members_.at(id);
  Level& level = levels_[member.priority];
  level.floor_ns = std::max(level.floor_ns, member.virtual_ns);
  running_.push_back(id);
}

void Shares::end_run(Id id) {
  raise_floor(members_.at(id).priority);
  std::erase(running_, id);
}

/// Lower priorities that wait are owed a part of the time; what one uses before a higher one that
/// waits is paid off.
void Shares::charge_level(const Member& member, std::int64_t compute_ns) {
  bool has_higher = false;
  for (auto& [priority, level] : levels_) {
    if (priority < member.priority && !level.waiting.empty()) {
      level.owed_ns += compute_ns / kPartOfLower;
    } else if (priority == member.priority) {
      level.run_ns = compute_ns;
      // What it uses alone costs nothing; a debt stays.
      level.owed_ns =
          has_higher ? level.owed_ns - compute_ns : std::min<std::int64_t>(level.owed_ns, 0);
    } else if (priority > member.priority) {
      has_higher = has_higher || !level.waiting.empty();
    }
  }
}

void Shares::charge(Id id, std::int64_t compute_ns) {
  Member& member = members_.at(id);
  charge_level(member, compute_ns);
  const std::int64_t owed_ns = compute_ns + member.rest_ns;
  member.rest_ns = owed_ns % member.weight;
  const std::int64_t virtual_ns = member.virtual_ns + owed_ns / member.weight;
  const std::int64_t least_ns = levels_[member.priority].floor_ns - kMostCreditNs / member.weight;
  move(id, member, member.is_waiting, std::max(virtual_ns, least_ns));
}

}  // namespace sluice::runtime
