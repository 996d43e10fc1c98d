// One request many times over one stream of a daemon, several in flight.
#pragma once

#include <optional>
#include <vector>

#include "rpc/client/client.h"

namespace sluice::tool {

struct RepeatOptions {
  std::int64_t count = 1;
  /// At most as many as the daemon holds of a stream; more only wait.
  std::int64_t in_flight = 1;
};

struct RepeatReport {
  std::int64_t num_failed = 0;
  Status first_error;                           ///< ok if none failed
  std::int64_t duration_ns = 0;                 ///< from the first request to the last answer
  std::vector<std::int64_t> latencies_ns;       ///< of successful requests, ascending
  std::optional<rpc::client::InferReply> last;  ///< the last successful one

  double per_second() const;
  /// The quantile `share` of the latencies; 0 if no request succeeded. Requires: 0 < share <= 1.
  std::int64_t latency_ns(double share) const;
};

/// Requires: count and in_flight > 0. Fails: with what ended the stream.
Result<RepeatReport> infer_repeatedly(rpc::client::Client& client, std::uint64_t model,
                                      const std::vector<terms::NamedTensor>& inputs,
                                      const rpc::client::InferOptions& options,
                                      const RepeatOptions& repeat);

}  // namespace sluice::tool
