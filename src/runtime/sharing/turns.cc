#include "runtime/sharing/turns.h"

#include <algorithm>

namespace sluice::runtime {
namespace {

/// A switch takes at most a tenth of a turn.
constexpr std::int64_t kResidencyPerCost = 10;
/// A priority that waits gets one part in so many of the time that higher ones use.
constexpr std::int64_t kPartOfLower = 19;
/// Share of a new value in an average.
constexpr std::int64_t kSmoothing = 8;

std::int64_t smoothed(std::int64_t average, std::int64_t value) {
  return average + (value - average) / kSmoothing;
}

}  // namespace

Turns::Id Turns::add(int weight, int priority) {
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

void Turns::remove(Id id) {
  const auto it = members_.find(id);
  if (it == members_.end()) return;
  const Member& member = it->second;
  raise_floor(member.priority);
  levels_[member.priority].set_of(member).erase({member.virtual_ns, id});
  num_waiting_ -= member.is_waiting ? 1 : 0;
  members_.erase(it);
  if (holder_ != id) return;
  holder_.reset();
  is_leaving_ = false;
}

/// By the members that are busy now, before another one becomes busy and starts from the floor.
void Turns::raise_floor(int priority) {
  Level& level = levels_[priority];
  const Member* holder = holder_ ? &members_.at(*holder_) : nullptr;
  const bool is_holder_here = holder != nullptr && holder->priority == priority;
  if (level.waiting.empty() && !is_holder_here) return;
  std::int64_t least_ns = level.waiting.empty() ? holder->virtual_ns : level.waiting.begin()->first;
  if (is_holder_here) least_ns = std::min(least_ns, holder->virtual_ns);
  level.floor_ns = std::max(level.floor_ns, least_ns);
}

/// The entry goes from set to set with its memory.
void Turns::move(Id id, Member& member, bool is_waiting, std::int64_t virtual_ns) {
  Level& level = levels_[member.priority];
  auto entry = level.set_of(member).extract({member.virtual_ns, id});
  num_waiting_ += (is_waiting ? 1 : 0) - (member.is_waiting ? 1 : 0);
  member.is_waiting = is_waiting;
  member.virtual_ns = virtual_ns;
  entry.value().first = virtual_ns;
  level.set_of(member).insert(std::move(entry));
}

void Turns::set_waiting(Id id, bool is_waiting) {
  Member& member = members_.at(id);
  if (member.is_waiting == is_waiting) return;
  raise_floor(member.priority);
  const std::int64_t floor_ns = is_waiting ? levels_[member.priority].floor_ns : 0;
  move(id, member, is_waiting, std::max(member.virtual_ns, floor_ns));
}

/// The first added of equal ones.
std::optional<Turns::Id> Turns::first_waiting() const {
  std::optional<Id> first;
  for (const auto& [priority, level] : levels_) {
    if (level.waiting.empty()) continue;
    const bool is_due = level.owed_ns >= level.run_ns;
    if (!first || is_due) first = level.waiting.begin()->second;
    if (is_due) break;  // of several the highest; its run is charged, and the next one's turn comes
  }
  return first;
}

bool Turns::update(std::int64_t now_ns, bool is_occupied) {
  const std::optional<Id> next = first_waiting();
  if (!next) return false;
  if (holder_) {
    const Member& holder = members_.at(*holder_);
    if (num_waiting_ == (holder.is_waiting ? 1 : 0)) {
      is_leaving_ = false;
      return false;
    }
    if (holder.is_waiting && !is_leaving_) {
      if (keeps(holder, *next, now_ns)) return false;
      is_leaving_ = true;
    }
    if (is_occupied) return false;
  }
  pass(*next, now_ns);
  return true;
}

/// Whether the holder, which has requests, goes on.
bool Turns::keeps(const Member& holder, Id next, std::int64_t now_ns) {
  if (members_.at(next).priority != holder.priority) return false;
  // Two charges show what a request costs that is not the first of its turn.
  const bool is_known =
      holder.request_ns > 0 || num_charges_ >= 2 || options_.max_residency_ns == 0;
  if (!is_known || now_ns - since_ns_ < residency_ns()) return true;
  if (next != *holder_) return false;
  since_ns_ = now_ns;
  return true;
}

void Turns::pass(Id next, std::int64_t now_ns) {
  const bool is_other = last_holder_ != next;
  if (is_other && last_holder_) ++num_switches_;
  holder_ = last_holder_ = next;
  is_leaving_ = false;
  if (is_other) num_charges_ = 0;
  since_ns_ = now_ns;
}

/// Lower priorities that wait are owed a part of the time; what one uses before a higher one that
/// waits is paid off.
void Turns::charge_level(const Member& member, std::int64_t compute_ns) {
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

void Turns::charge(std::int64_t compute_ns, std::int64_t num_requests) {
  if (!holder_) return;
  Member& member = members_.at(*holder_);
  charge_level(member, compute_ns);
  const std::int64_t owed_ns = compute_ns + member.rest_ns;
  member.rest_ns = owed_ns % member.weight;
  move(*holder_, member, member.is_waiting, member.virtual_ns + owed_ns / member.weight);
  const std::int64_t each_ns = compute_ns / num_requests;
  if (num_charges_++ == 0) {
    if (member.request_ns > 0) {
      const std::int64_t cost_ns = std::max<std::int64_t>(each_ns - member.request_ns, 0);
      switch_cost_ns_ = smoothed(switch_cost_ns_, cost_ns * num_requests);
    }
  } else {
    member.request_ns = member.request_ns == 0 ? each_ns : smoothed(member.request_ns, each_ns);
  }
}

std::int64_t Turns::residency_ns() const {
  return std::clamp(switch_cost_ns_ * kResidencyPerCost, options_.min_residency_ns,
                    options_.max_residency_ns);
}

}  // namespace sluice::runtime
