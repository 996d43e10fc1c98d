// One request many times over one stream of a daemon, several in flight.
#pragma once

#include <optional>
#include <vector>

#include "perf/window.h"
#include "rpc/client/client.h"

namespace sluice::tool {

struct RepeatOptions {
  std::int64_t count = 1;
  /// At most as many as the daemon holds of a stream; more only wait.
  std::int64_t in_flight = 1;
};

struct RepeatReport {
  perf::Window figures;                         ///< from the first request to the last answer
  std::optional<rpc::client::InferReply> last;  ///< the last successful one
};

/// Requires: count and in_flight > 0. Fails: with what ended the stream.
Result<RepeatReport> infer_repeatedly(rpc::client::Client& client, std::uint64_t model,
                                      const std::vector<terms::NamedTensor>& inputs,
                                      const rpc::client::InferOptions& options,
                                      const RepeatOptions& repeat);

}  // namespace sluice::tool
