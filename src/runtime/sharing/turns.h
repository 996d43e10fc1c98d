// Turns of the models that share a core group.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace sluice::runtime {

struct TurnOptions {
  /// A member with requests keeps its turn at least this long although others wait.
  std::int64_t min_residency_ns = 2'000'000;
  /// Longest turn while others wait, whatever a switch costs. 0: a turn is one run.
  std::int64_t max_residency_ns = 100'000'000;
};

/// Decides whose requests start. A higher priority goes first, but a lower one that waits gets a
/// twentieth of the time; within one priority, weighted fair queueing by compute time: each member
/// has a virtual time, its compute time divided by its weight, and the next turn goes to the
/// waiting member with the least. A member that had nothing to do gets no credit for that: it goes
/// on from the least virtual time of the busy ones of its priority.
///
/// A turn ends when its holder has no request left, after the residency if others of its priority
/// wait, or when one of another priority goes first. The residency is `min_residency_ns`, or ten
/// times the measured cost of a switch if that is more: the time by which the first requests of
/// turns exceed later ones. The holder then starts no more requests, and the turn passes when those
/// that run have ended.
///
/// Used by one thread at a time; a call takes logarithmic time and, but for `add`, allocates
/// nothing. Times of `update` never go back.
class Turns {
 public:
  enum class Id : std::uint64_t {};

  explicit Turns(const TurnOptions& options) : options_(options) {}

  /// Requires: 1 <= weight <= kMaxWeight.
  Id add(int weight, int priority = 0);
  /// Ends its turn.
  void remove(Id id);
  /// A member that was alone has the turn.
  void give(Id id) {
    holder_ = last_holder_ = id;
    is_leaving_ = false;
  }
  /// Whether the member has a request that could start.
  void set_waiting(Id id, bool is_waiting);

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
  struct Member {
    int weight = 1;
    int priority = 0;
    std::int64_t virtual_ns = 0;
    std::int64_t rest_ns = 0;  ///< compute time that is less than one virtual ns
    bool is_waiting = false;
    std::int64_t request_ns = 0;  ///< average without first requests of turns; 0: unknown
  };
  using ByVirtualTime = std::set<std::pair<std::int64_t, Id>>;
  /// Whoever has never run waits for 20 ms of higher ones.
  static constexpr std::int64_t kFirstRunNs = 1'000'000;

  /// The members of one priority.
  struct Level {
    std::int64_t floor_ns = 0;          ///< least virtual time of busy members; never goes back
    std::int64_t owed_ns = 0;           ///< its share of what higher ones computed while it waited
    std::int64_t run_ns = kFirstRunNs;  ///< its last charge; it goes first when so much is owed
    ByVirtualTime waiting;
    ByVirtualTime others;

    ByVirtualTime& set_of(const Member& member) { return member.is_waiting ? waiting : others; }
  };

  std::optional<Id> first_waiting() const;
  bool keeps(const Member& holder, Id next, std::int64_t now_ns);
  void raise_floor(int priority);
  void move(Id id, Member& member, bool is_waiting, std::int64_t virtual_ns);
  void pass(Id next, std::int64_t now_ns);
  void charge_level(const Member& member, std::int64_t compute_ns);

  const TurnOptions options_;
  std::map<Id, Member> members_;
  std::map<int, Level, std::greater<>> levels_;  ///< by priority
  std::int64_t num_waiting_ = 0;
  std::optional<Id> holder_;
  std::optional<Id> last_holder_;
  bool is_leaving_ = false;
  std::int64_t num_charges_ = 0;  ///< since the turn passed to another member
  std::int64_t since_ns_ = 0;
  std::int64_t num_switches_ = 0;
  std::int64_t switch_cost_ns_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace sluice::runtime
