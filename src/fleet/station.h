// A model on a group of cores of one machine: its waiting line and its slots.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fleet/calibration.h"
#include "fleet/service_times.h"
#include "runtime/line/forecast.h"
#include "runtime/line/waiting_line.h"

namespace sluice::fleet {

/// What a simulation needs of a model; one for all machines.
struct SimulatedModel {
  CalibratedModel facts;
  ServiceTimes times;
};

/// A request on its way.
struct Query {
  std::int64_t sent_ns = 0;  ///< by its client
  std::int64_t deadline_ns = kNoDeadline;
  std::uint32_t model = 0;
  std::uint32_t machine = 0;
  std::int32_t rows = 1;
  std::int32_t num_tries = 0;  ///< machines that were lost with it
};

/// Requests that run as one.
struct Run {
  std::vector<Query> queries;
  std::int64_t rows = 0;
  std::int64_t start_ns = 0;  ///< when it got its slot
};

/// Admits, orders, joins and drops requests as runtime::ModelScheduler does, by the same line and
/// the same forecast. Times never go back. Dropped requests are added to `dropped`.
class Station {
 public:
  /// `model` outlives it.
  explicit Station(const SimulatedModel& model);

  /// False: refused, because the line is full or the reply would be late.
  bool enter(const Query& query, std::int64_t now_ns);
  /// Fills a slot if one is free and a run is due.
  std::optional<Run> take_run(std::int64_t now_ns, std::vector<Query>& dropped);
  /// When a run is due although nothing else happens; kNoDeadline: never.
  std::int64_t join_due_ns() const;
  /// A run ended; its slot is free. `is_stopped`: when the last of its requests was late. The
  /// forecast hears of each late one at its deadline, as from the daemon.
  void complete(const Run& run, std::int64_t now_ns, bool is_stopped);

  /// Number of requests that wait or run.
  int num_in_flight() const { return num_in_flight_; }
  /// Forgets them all, with their runs; returns those that wait.
  std::vector<Query> clear();

 private:
  struct Waiting {
    Query query;
    runtime::Request request;  ///< its deadline and size: what line and forecast look at
    std::int64_t submitted_ns = 0;
  };
  struct Next {
    std::size_t num_requests = 0;
    std::int64_t rows = 0;
    bool is_due = false;
  };
  Next next_run(std::int64_t now_ns) const;
  void drop_late(std::int64_t now_ns, std::vector<Query>& dropped);

  const SimulatedModel& model_;
  runtime::WaitingLine<Waiting> line_;
  runtime::Forecast forecast_;
  int num_free_slots_;
  int num_in_flight_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace sluice::fleet
