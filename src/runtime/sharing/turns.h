// Turns of the models that share a core group.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "runtime/sharing/shares.h"

namespace sluice::runtime {

struct TurnOptions {
  /// A member with requests keeps its turn at least this long although others wait.
  std::int64_t min_residency_ns = 2'000'000;
  /// Longest turn while others wait, whatever a switch costs.
  std::int64_t max_residency_ns = 100'000'000;
};

/// Decides whose requests start, one member's at a time: `Shares` says who goes next, and a turn
/// lasts for several requests.
///
/// A turn ends when its holder has no request left, after the residency if others of its priority
/// wait, or when one of another priority goes first. The residency is `min_residency_ns`, or ten
/// times the measured cost of a switch if that is more: the time by which the first requests of
/// turns exceed later ones. The holder then starts no more requests, and the turn passes when those
/// that run have ended.
///
/// Used by one thread at a time; costs as Shares. Times of `update` never go back.
class Turns {
 public:
  using Id = Shares::Id;

  explicit Turns(const TurnOptions& options) : options_(options) {}

  /// Requires: 1 <= weight <= kMaxWeight.
  Id add(int weight, int priority = 0);
  /// Ends its turn.
  void remove(Id id);
  /// A member that was alone has the turn.
  void give(Id id) { hold(id); }
  /// Whether the member has a request that could start.
  void set_waiting(Id id, bool is_waiting) { shares_.set_waiting(id, is_waiting); }

  /// `is_occupied`: a request of the holder runs. Returns whether the turn passed.
  bool update(std::int64_t now_ns, bool is_occupied);
  std::optional<Id> holder() const { return holder_; }
  /// Whether the holder may start requests.
  bool may_start() const { return !is_leaving_; }
  /// Adds the compute time of the holder's requests that have ended. Requires: num_requests > 0.
  void charge(std::int64_t compute_ns, std::int64_t num_requests);

  std::int64_t num_switches() const { return num_switches_; }
  std::int64_t switch_cost_ns() const { return switch_cost_ns_; }
  std::int64_t residency_ns() const;

 private:
  bool keeps(Id holder, Id next, std::int64_t now_ns);
  void pass(Id next, std::int64_t now_ns);
  void hold(Id id);

  const TurnOptions options_;
  Shares shares_;                          ///< the holder runs
  std::map<Id, std::int64_t> request_ns_;  ///< average without first requests of turns; 0: unknown
  std::optional<Id> holder_;
  std::optional<Id> last_holder_;
  bool is_leaving_ = false;
  std::int64_t num_charges_ = 0;  ///< since the turn passed to another member
  std::int64_t since_ns_ = 0;
  std::int64_t num_switches_ = 0;
  std::int64_t switch_cost_ns_ = 0;
};

}  // namespace sluice::runtime
