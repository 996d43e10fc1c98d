#include "runtime/sharing/turns.h"

#include <algorithm>
#include <limits>

namespace sluice::runtime {
namespace {

/// A switch takes at most a tenth of a turn.
constexpr std::int64_t kResidencyPerCost = 10;
/// Share of a new value in an average.
constexpr std::int64_t kSmoothing = 8;

std::int64_t smoothed(std::int64_t average, std::int64_t value) {
  return average + (value - average) / kSmoothing;
}

}  // namespace

Turns::Id Turns::add(int weight) {
  Member member;
  member.id = Id{next_id_++};
  member.weight = weight;
  member.virtual_ns = floor_ns_;
  members_.push_back(member);
  return member.id;
}

void Turns::remove(Id id) {
  std::erase_if(members_, [&](const Member& member) { return member.id == id; });
  if (holder_ != id) return;
  holder_.reset();
  is_leaving_ = false;
}

Turns::Member* Turns::find(Id id) {
  const auto it = std::ranges::find(members_, id, &Member::id);
  return it == members_.end() ? nullptr : &*it;
}

/// The floor rises first, by the members that were busy before: a new one starts from there.
void Turns::take_waiting(std::span<const Id> waiting) {
  std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
  for (const Member& member : members_) {
    if (member.is_waiting || member.id == holder_) least_ns = std::min(least_ns, member.virtual_ns);
  }
  if (least_ns != std::numeric_limits<std::int64_t>::max()) {
    floor_ns_ = std::max(floor_ns_, least_ns);
  }
  for (Member& member : members_) {
    const bool is_waiting = std::ranges::find(waiting, member.id) != waiting.end();
    if (is_waiting && !member.is_waiting) {
      member.virtual_ns = std::max(member.virtual_ns, floor_ns_);
    }
    member.is_waiting = is_waiting;
  }
}

/// Null if none waits. Of equal ones the first added.
const Turns::Member* Turns::first_waiting() const {
  const Member* first = nullptr;
  for (const Member& member : members_) {
    if (!member.is_waiting) continue;
    if (first == nullptr || member.virtual_ns < first->virtual_ns) first = &member;
  }
  return first;
}

bool Turns::update(std::int64_t now_ns, std::span<const Id> waiting, bool is_occupied) {
  take_waiting(waiting);
  const Member* next = first_waiting();
  if (next == nullptr) return false;
  if (!holder_) return pass(now_ns);
  const bool is_holder_waiting = find(*holder_)->is_waiting;
  const bool do_others_wait = std::ranges::any_of(waiting, [&](Id id) { return id != *holder_; });
  if (!do_others_wait) {
    is_leaving_ = false;
    return false;
  }
  if (is_holder_waiting && !is_leaving_) {
    // Two charges show what a request costs that is not the first of its turn.
    const bool is_known = find(*holder_)->request_ns > 0 || num_charges_ >= 2;
    if (!is_known || now_ns - since_ns_ < residency_ns()) return false;
    if (next->id == *holder_) {
      since_ns_ = now_ns;
      return false;
    }
    is_leaving_ = true;
  }
  return is_occupied ? false : pass(now_ns);
}

bool Turns::pass(std::int64_t now_ns) {
  const Id next = first_waiting()->id;
  const bool is_other = last_holder_ != next;
  if (is_other && last_holder_) ++num_switches_;
  holder_ = last_holder_ = next;
  is_leaving_ = false;
  if (is_other) num_charges_ = 0;
  since_ns_ = now_ns;
  return true;
}

void Turns::charge(std::int64_t compute_ns, std::int64_t num_requests) {
  Member* member = holder_ ? find(*holder_) : nullptr;
  if (member == nullptr) return;
  member->virtual_ns += compute_ns / member->weight;
  const std::int64_t each_ns = compute_ns / num_requests;
  if (num_charges_++ == 0) {
    if (member->request_ns > 0) {
      const std::int64_t cost_ns = std::max<std::int64_t>(each_ns - member->request_ns, 0);
      switch_cost_ns_ = smoothed(switch_cost_ns_, cost_ns * num_requests);
    }
  } else {
    member->request_ns = member->request_ns == 0 ? each_ns : smoothed(member->request_ns, each_ns);
  }
}

std::int64_t Turns::residency_ns() const {
  return std::clamp(switch_cost_ns_ * kResidencyPerCost, options_.min_residency_ns,
                    options_.max_residency_ns);
}

}  // namespace sluice::runtime
