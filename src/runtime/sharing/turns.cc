#include "runtime/sharing/turns.h"

#include <algorithm>

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

Turns::Id Turns::add(int weight, int priority) {
  const Id id = shares_.add(weight, priority);
  request_ns_[id] = 0;
  return id;
}

void Turns::remove(Id id) {
  shares_.remove(id);
  request_ns_.erase(id);
  if (holder_ != id) return;
  holder_.reset();
  is_leaving_ = false;
}

void Turns::hold(Id id) {
  if (holder_) shares_.end_run(*holder_);
  shares_.begin_run(id);
  holder_ = last_holder_ = id;
  is_leaving_ = false;
}

bool Turns::update(std::int64_t now_ns, bool is_occupied) {
  const std::optional<Id> next = shares_.next();
  if (!next) return false;
  if (holder_) {
    const bool is_waiting = shares_.is_waiting(*holder_);
    if (shares_.num_waiting() == (is_waiting ? 1 : 0)) {
      is_leaving_ = false;
      return false;
    }
    if (is_waiting && !is_leaving_) {
      if (keeps(*holder_, *next, now_ns)) return false;
      is_leaving_ = true;
    }
    if (is_occupied) return false;
  }
  pass(*next, now_ns);
  return true;
}

/// Whether the holder, which has requests, goes on.
bool Turns::keeps(Id holder, Id next, std::int64_t now_ns) {
  if (shares_.priority(next) != shares_.priority(holder)) return false;
  // Two charges show what a request costs that is not the first of its turn.
  const bool is_known = request_ns_.at(holder) > 0 || num_charges_ >= 2;
  if (!is_known || now_ns - since_ns_ < residency_ns()) return true;
  if (next != holder) return false;
  since_ns_ = now_ns;
  return true;
}

void Turns::pass(Id next, std::int64_t now_ns) {
  const bool is_other = last_holder_ != next;
  if (is_other && last_holder_) ++num_switches_;
  hold(next);
  if (is_other) num_charges_ = 0;
  since_ns_ = now_ns;
}

void Turns::charge(std::int64_t compute_ns, std::int64_t num_requests) {
  if (!holder_) return;
  shares_.charge(*holder_, compute_ns);
  std::int64_t& request_ns = request_ns_.at(*holder_);
  const std::int64_t each_ns = compute_ns / num_requests;
  if (num_charges_++ == 0) {
    if (request_ns > 0) {
      const std::int64_t cost_ns = std::max<std::int64_t>(each_ns - request_ns, 0);
      switch_cost_ns_ = smoothed(switch_cost_ns_, cost_ns * num_requests);
    }
  } else {
    request_ns = request_ns == 0 ? each_ns : smoothed(request_ns, each_ns);
  }
}

std::int64_t Turns::residency_ns() const {
  return std::clamp(switch_cost_ns_ * kResidencyPerCost, options_.min_residency_ns,
                    options_.max_residency_ns);
}

}  // namespace sluice::runtime
