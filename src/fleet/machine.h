// A machine of a simulated fleet: its groups of cores, and the models in its memory.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "fleet/station.h"

namespace sluice::fleet {

/// One copy of a model, on a group.
struct Copy {
  Copy(std::uint32_t which, const SimulatedModel& facts, std::size_t on)
      : model(which), station(facts), group(on) {}

  std::uint32_t model;
  Station station;
  std::size_t group;
  bool is_asking = false;              ///< in Group::asking
  std::int64_t look_ns = kNoDeadline;  ///< of the event that joins what waits; kNoDeadline: none
};

/// A run that has a slot.
struct Started {
  Run run;
  Copy* copy = nullptr;
  bool is_stopped = false;
};

/// Runs all runs that got slots when it was idle, one after another; then the next copy that asks
/// fills its slots. So does the thread that steps a model of one compute lane.
struct Group {
  std::deque<Started> waiting;
  std::optional<Started> running;
  std::deque<Copy*> asking;
  std::int64_t busy_ns = 0;
  std::int64_t since_ns = 0;  ///< of the running one
  std::size_t num_copies = 0;
  std::int64_t num_requests = 0;  ///< that wait or run, of all copies

  bool is_idle() const { return !running && waiting.empty(); }
};

/// A model in a machine's memory.
struct Resident {
  std::vector<std::unique_ptr<Copy>> copies;
  std::int64_t memory_bytes = 0;  ///< of the model
  std::int64_t used_ns = 0;
  bool is_loaded = false;

  bool is_idle() const;
};

class Machine {
 public:
  Machine(std::size_t num_groups, std::int64_t memory_bytes)
      : groups_(num_groups), memory_bytes_(memory_bytes) {}

  /// The copy of the model on the group with the fewest requests.
  Copy& least_busy(Resident& resident);
  std::vector<Group>& groups() { return groups_; }
  const std::vector<Group>& groups() const { return groups_; }
  /// Null for a model that is not in memory.
  Resident* find(std::uint32_t model);
  /// Takes its memory, and copies on the groups with the fewest; it is not loaded yet. Unloads idle
  /// models for it. Null if busy ones have the memory.
  Resident* add(std::uint32_t model, const SimulatedModel& facts, int num_copies);
  bool has_room(std::int64_t bytes) const {
    return memory_bytes_ == 0 || used_bytes_ + bytes <= memory_bytes_;
  }
  /// Loads follow one another: the end of one more.
  std::int64_t load_until(std::int64_t now_ns, std::int64_t load_ns);

  /// All requests that it has; models and runs are gone.
  std::vector<Query> fail(std::int64_t now_ns);
  void start() { is_up_ = true; }
  bool is_up() const { return is_up_; }
  /// Counts failures, so that events of an earlier life are known.
  std::uint32_t life() const { return life_; }

 private:
  bool make_room(std::int64_t bytes);
  void remove(std::map<std::uint32_t, Resident>::iterator resident);

  std::vector<Group> groups_;
  const std::int64_t memory_bytes_;  ///< 0: no limit
  std::int64_t used_bytes_ = 0;
  std::int64_t load_ends_ns_ = 0;
  bool is_up_ = true;
  std::uint32_t life_ = 0;
  std::map<std::uint32_t, Resident> residents_;  ///< by model
};

}  // namespace sluice::fleet
