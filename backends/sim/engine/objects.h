// What a simulation is made of. Plain data; simulator.h says what happens to it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/cost.h"
#include "sluice/host_backend.hpp"

namespace sluice::sim {

class Simulator;
struct Group;
struct Stream;

/// Time, and a number that orders what happens at one time.
using EventKey = std::pair<std::int64_t, std::int64_t>;

/// Servers, and the steps that wait for one: the cores of a group, the engines of a copy path.
struct Station {
  std::string name;
  int servers = 1;
  int busy = 0;
  std::map<std::int64_t, Stream*> waiting = {};  ///< the smallest number first
};

/// A reference kernel with what the cost model knows of it. Immutable.
struct Kernel : plugin::detail::Kernel {
  int device = 0;
  std::int64_t id = 0;
  Work work;
};

struct CommandList : plugin::detail::CommandList {
  Group* group = nullptr;
  int id = 0;
  std::uint64_t program = 0;  ///< equal for lists of the same kernels in the same order; 0: none
  bool is_running = false;
};

/// A number for the sequence of a list's kernels; 0 if it has none.
std::uint64_t program_of(const CommandList& list);

struct Group {
  Simulator* simulator = nullptr;
  int id = 0;
  int device = 0;
  std::vector<int> cores;
  int granted_cores = 0;      ///< that its kernels run on
  Station station;            ///< all cores together serve one kernel at a time
  std::uint64_t program = 0;  ///< of its last kernel
};

/// A moment of a stream that others wait for.
struct Recording {
  bool has_happened = false;
  std::vector<int> waiting = {};  ///< streams, by id
};

struct Event {
  Simulator* simulator = nullptr;
  int id = 0;
  std::shared_ptr<Recording> last;
};

/// An entry of a stream's queue: one submission of a list, or a recording of an event or a wait for
/// one.
struct Run {
  std::int64_t order = 0;  ///< among all submissions
  CommandList* list = nullptr;
  std::vector<void*> bindings = {};
  std::size_t next = 0;                            ///< command
  std::shared_ptr<Recording> recording = nullptr;  ///< instead of a list
  bool is_wait = false;

  const plugin::detail::Command& command() const { return list->commands[next]; }
};

/// The step under way of a stream's first run.
struct Step {
  Station* station = nullptr;  ///< where it waits or is served; null: there is none
  std::int64_t priority = 0;
  bool is_served = false;
  std::optional<EventKey> event;  ///< of its end; none while it waits or hangs
  std::int64_t hung_by = 0;       ///< the fault's id
  bool is_lost = false;           ///< its kernel computes nothing (engine/partition.h)
  Status outcome;                 ///< decided at its start
};

struct Stream {
  Group* group = nullptr;
  int id = 0;
  std::deque<Run> runs;  ///< the first one is under way
  Step step;
  Status first_error;
};

}  // namespace sluice::sim
