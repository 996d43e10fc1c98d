// A discrete-event simulation of machines, each with a daemon, behind a balancer.
//
//     client --link--> balancer --link--> machine --> waiting line --> slot --> group of cores
//        ^                                                                          |
//        +--------------------------------- link -----------------------------------+
//
// A machine has groups of cores. A group that is idle fills the free slots of a copy of a model,
// and runs them one after another; then the next copy has its turn. A model that a machine does not
// have in memory is loaded at its first request, and idle ones make room, the longest unused first.
// A machine that fails loses its requests and its models; the balancer sends the requests again.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "fleet/calibration.h"
#include "fleet/router.h"
#include "fleet/station.h"
#include "fleet/trace.h"
#include "perf/window.h"

namespace sluice::fleet {

/// All machines are alike.
struct Fleet {
  int num_machines = 1;
  int num_groups = 1;             ///< of cores, of each machine
  int num_copies = 1;             ///< groups of a machine that a model is loaded on
  std::int64_t memory_bytes = 0;  ///< of a machine, for models; 0: room for all
  Route route = Route::kLeast;
  std::int64_t link_ns = 0;     ///< delay of the network, each way
  std::int64_t failure_ns = 0;  ///< mean time from a start of a machine to its failure; 0: never
  std::int64_t restart_ns = 0;  ///< from a failure to the next start
  std::uint64_t seed = 1;       ///< of run times and failures
};

inline constexpr int kMaxMachines = 100'000;
inline constexpr int kMaxGroups = 1024;
/// A request is lost after this many machines have failed with it.
inline constexpr int kMostTries = 3;

struct Outcome {
  perf::Window window;            ///< failed are those that were refused, late or lost
  std::int64_t num_lost = 0;      ///< of those: their machines failed, or none was up
  std::int64_t num_loads = 0;     ///< of models, after the start
  std::int64_t num_failures = 0;  ///< of machines
  double utilisation = 0;         ///< share of the time in which groups ran

  Figures figures() const;
};

/// `models`: by Arrival::model. At the start a machine has as many models as fit: with kModel its
/// own, else machine N begins with model N. The same arguments give the same
/// outcome. Fails: kInvalidArgument for a number out of its range, and for a model that needs more
/// than a machine's memory.
Result<Outcome> simulate(const std::vector<const SimulatedModel*>& models, const Trace& trace,
                         const Fleet& fleet);

}  // namespace sluice::fleet
