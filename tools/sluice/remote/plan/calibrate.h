// Measures a model of a running daemon for `sluice plan`.
#pragma once

#include <cstdint>
#include <vector>

#include "fleet/calibration.h"
#include "rpc/client/client.h"
#include "sluice/remote/perf/perf_target.h"

namespace sluice::tool {

struct CalibrationPlan {
  double seconds = 20;  ///< of each of the measured loads
  /// Shares of what the model can answer.
  std::vector<double> loads = {0.5, 0.8, 1.3};
  std::int64_t deadline_ns = 0;   ///< of each request; 0: ten runs
  std::int64_t load_ns = 0;       ///< as fleet::CalibratedModel
  std::int32_t batch_rows = 1;    ///< as the model was loaded
  std::int64_t max_delay_ns = 0;  ///< as the model was loaded
  std::uint64_t seed = 1;         ///< of the first load; each has the next
};

/// Puts load on the model and asks `client`, of the same daemon, for its histogram before and
/// behind. In turns come a part of each load and probes: one request at a time, which tells what
/// protocol and client take, and as many requests as keep the model busy. The simulation draws
/// from the run times of these, so nothing of the loads themselves goes into it. For a model that
/// joins requests, probes of 1, 2, 4 ... rows tell how long runs of so many rows take, and requests
/// that fill a run each tell what every request of a joined run adds.
/// Blocks for about a load longer than all loads. Fails: kNotFound without such a model;
/// kFailedPrecondition for a daemon that tells no histogram, for a model that failed a request
/// without a deadline, and if `batch_rows` is not as the model was loaded; as the calls.
Result<fleet::CalibratedModel> calibrate(rpc::client::Client& client, const PerfTarget& to,
                                         const CalibrationPlan& plan);

}  // namespace sluice::tool
