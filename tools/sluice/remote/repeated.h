// One request many times over one stream of a daemon, several in flight.
#pragma once

#include <optional>
#include <vector>

#include "rpc/client.h"

namespace sluice::tool {

struct RepeatOptions {
  std::int64_t count = 1;
  /// At most as many as the daemon holds of a stream; more only wait.
  std::int64_t in_flight = 1;
};

struct RepeatReport {
  std::int64_t num_failed = 0;
  Status first_error;                      ///< ok if none failed
  std::int64_t duration_ns = 0;            ///< from the first request to the last answer
  std::vector<std::int64_t> latencies_ns;  ///< of those that did not fail, the shortest first
  std::optional<rpc::InferReply> last;     ///< that did not fail

  double per_second() const;
  /// The one that `share` of all do not pass; 0 if none succeeded. Requires: 0 < share <= 1.
  std::int64_t latency_ns(double share) const;
};

/// Requires: count and in_flight > 0. Fails: with what ended the stream.
Result<RepeatReport> infer_repeatedly(rpc::Client& client, std::uint64_t model,
                                      const std::vector<rpc::NamedTensor>& inputs,
                                      const rpc::InferOptions& options,
                                      const RepeatOptions& repeat);

}  // namespace sluice::tool
