// Sends requests at the times of a trace, whatever the answers take.
#pragma once

#include <cstdint>
#include <vector>

#include "target.h"

namespace sluice::bench {

struct LoadRequest {
  std::int64_t due_ns = 0;  ///< since the start of the load
  std::size_t function = 0;
};

struct Replay {
  std::vector<std::int64_t> latencies_ns;  ///< from the intended time to the answer; of successes
  std::vector<std::int64_t> lateness_ns;   ///< from the intended to the actual time of sending
  std::vector<std::int64_t> offered;       ///< by function
  std::vector<std::int64_t> answered;      ///< by function, within `deadline_ns` of the due time
  std::int64_t num_failed = 0;
  std::int64_t duration_ns = 0;  ///< to the last answer
};

/// Open loop: each request is sent when it is due. `requests` are sorted by due time.
/// Fails: with what ended the target.
Result<Replay> replay(Target& target, std::size_t num_functions,
                      const std::vector<LoadRequest>& requests, std::int64_t deadline_ns);

/// The value below which `share` of the values lie; 0 of none. Sorts a copy.
std::int64_t quantile(std::vector<std::int64_t> values, double share);

/// Jain's index of fairness: 1 if all are equal, 1/n if one has everything.
double fairness(const std::vector<double>& amounts);

}  // namespace sluice::bench
