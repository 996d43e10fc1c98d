// What a daemon does, seen by looking twice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "terms/server/server.h"

namespace sluice::activity {

/// The state of a daemon at about one moment: its parts are taken one after another, so lists may
/// disagree about what was made or removed meanwhile. Whoever reads a snapshot looks numbers up and
/// allows for missing ones.
struct Snapshot {
  std::int64_t time_ns = 0;  ///< on this machine's monotonic clock
  terms::ServerInfo server;
  terms::ServerHealth health;
  std::vector<terms::ModelEntry> models;
  std::vector<terms::GroupEntry> groups;
  std::vector<terms::SessionInfo> sessions;
  terms::ServerStatistics statistics;
};

/// Answered requests, and failed ones among them.
std::int64_t num_answered(const std::vector<terms::CodeCount>& answered);
std::int64_t num_errors(const std::vector<terms::CodeCount>& answered);

/// What happened between two snapshots.
struct Activity {
  struct Rate {
    double requests_per_s = 0;
    double errors_per_s = 0;
    /// Latencies of what ended well meanwhile, within an eighth; 0 if nothing did.
    std::int64_t p50_ns = 0;
    std::int64_t p99_ns = 0;
  };
  double interval_s = 0;
  Rate all;                                            ///< of all models
  std::map<std::uint64_t, Rate> models;                ///< by handle
  std::map<std::uint64_t, double> group_utilisation;   ///< by handle; share of the cores' time
  std::map<std::uint64_t, double> device_utilisation;  ///< by number
};

/// Counters that only `now` has start at 0. Requires: `now` was taken after `before`.
Activity activity_between(const Snapshot& before, const Snapshot& now);

/// One line of JSON, without its end; docs/daemon.md has the keys. `sluice monitor` prints it, and
/// the daemon's page shows it. `unix_time_s`: of `now`.
std::string activity_line(const Snapshot& now, const Activity& activity, double unix_time_s);

}  // namespace sluice::activity
