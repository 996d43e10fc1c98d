// How the time of a lane is divided when every function always has requests.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "rpc/client/client.h"

namespace sluice::bench {

struct Division {
  struct Part {
    double wanted = 0;    ///< the function's share of all shares
    double measured = 0;  ///< its part of the lane's busy time
  };
  std::vector<Part> parts;  ///< by function
  double busy = 0;          ///< busy part of the lane's time; shares decide only where it is near 1
};

/// Keeps 4 callers of each function busy for `duration_ns`. `connect` makes a client for a thread.
/// `functions` are on one lane.
Division divide(const std::function<std::unique_ptr<rpc::client::Client>()>& connect,
                const std::vector<std::uint64_t>& functions,
                const std::vector<terms::NamedTensor>& inputs, std::int64_t duration_ns);

}  // namespace sluice::bench
