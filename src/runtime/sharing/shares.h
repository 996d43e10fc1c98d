// Who goes next among members with shares and priorities.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace sluice::runtime {

/// A higher priority goes first, but a lower one that waits gets a twentieth of the time. Within
/// one priority: weighted fair queueing by compute time. Each member has a virtual time, its
/// compute time divided by its weight, and the waiting member with the least goes next.
///
/// One member runs, or several at the same time, each once. A member that had nothing to do gets no
/// credit for that: it goes on from where the others of its priority are, which is the virtual time
/// of the last one that began to run, or the least of the busy ones. A member whose share is more
/// than it can use, because it runs once at a time, keeps a second of compute time as credit.
///
/// Used by one thread at a time. A call takes time logarithmic in the members and linear in those
/// that run, and allocates only in `add`, and in `begin_run` where more run than ever before.
class Shares {
 public:
  enum class Id : std::uint64_t {};

  /// Requires: 1 <= weight <= kMaxWeight.
  Id add(int weight, int priority = 0);
  void remove(Id id);
  /// Whether the member has something to run.
  void set_waiting(Id id, bool is_waiting);

  /// The member to run next; the first added of equal ones. A member that runs is no exception: its
  /// owner says whether it waits.
  std::optional<Id> next() const;
  /// The member runs, until `end_run`. Requires: it does not.
  void begin_run(Id id);
  void end_run(Id id);
  /// Adds compute time. Requires: the member runs.
  void charge(Id id, std::int64_t compute_ns);

  bool is_waiting(Id id) const { return members_.at(id).is_waiting; }
  int priority(Id id) const { return members_.at(id).priority; }
  std::int64_t num_waiting() const { return num_waiting_; }

 private:
  struct Member {
    int weight = 1;
    int priority = 0;
    std::int64_t virtual_ns = 0;
    std::int64_t rest_ns = 0;  ///< compute time that is less than one virtual ns
    bool is_waiting = false;
  };
  using ByVirtualTime = std::set<std::pair<std::int64_t, Id>>;
  /// Whoever has never run waits for 20 ms of higher ones.
  static constexpr std::int64_t kFirstRunNs = 1'000'000;

  /// The members of one priority.
  struct Level {
    std::int64_t floor_ns = 0;          ///< where its busy members are; never goes back
    std::int64_t owed_ns = 0;           ///< its share of what higher ones computed while it waited
    std::int64_t run_ns = kFirstRunNs;  ///< its last charge; it goes first when so much is owed
    ByVirtualTime waiting;
    ByVirtualTime others;

    ByVirtualTime& set_of(const Member& member) { return member.is_waiting ? waiting : others; }
  };

  bool is_running(Id id) const;
  void raise_floor(int priority);
  void move(Id id, Member& member, bool is_waiting, std::int64_t virtual_ns);
  void charge_level(const Member& member, std::int64_t compute_ns);

  std::map<Id, Member> members_;
  std::vector<Id> running_;
  std::map<int, Level, std::greater<>> levels_;  ///< by priority
  std::int64_t num_waiting_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace sluice::runtime
