// Sends requests at the times of a trace, whatever the answers take.
#pragma once

#include <cstdint>
#include <vector>

#include "rpc/client/client.h"

namespace sluice::bench {

struct Replay {
  std::vector<std::int64_t> latencies_ns;  ///< from the intended time to the answer; of successes
  std::vector<std::int64_t> lateness_ns;   ///< from the intended to the actual time of sending
  std::vector<std::int64_t> answered;      ///< by function
  std::int64_t num_failed = 0;
  std::int64_t duration_ns = 0;
};

/// Open loop: the i-th request goes to function `functions[i % size]` when `arrivals_ns[i]` has
/// passed since the start. Fails: with what ended the stream.
Result<Replay> replay(rpc::client::Client& client, const std::vector<std::uint64_t>& functions,
                      const std::vector<rpc::client::NamedTensor>& inputs,
                      const std::vector<std::int64_t>& arrivals_ns);

/// The value below which `share` of the values lie; 0 of none. Sorts a copy.
std::int64_t quantile(std::vector<std::int64_t> values, double share);

/// Jain's index of fairness: 1 if all are equal, 1/n if one has everything.
double fairness(const std::vector<std::int64_t>& amounts);

}  // namespace sluice::bench
