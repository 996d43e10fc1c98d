// What was measured of models behind a daemon, and how well the simulation repeats it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "terms/server/statistics.h"

namespace sluice::fleet {

/// Figures of one load, as its clients see it.
struct Figures {
  std::int64_t p50_ns = 0;  ///< of answered requests
  std::int64_t p99_ns = 0;
  double shed = 0;  ///< share of requests that were refused, or were late
};

/// One load that a daemon got, and the same one simulated.
struct CalibrationRun {
  double per_second = 0;  ///< of a Poisson process
  std::int64_t deadline_ns = 0;
  std::int64_t num_requests = 0;
  std::uint64_t seed = 0;  ///< of the process
  Figures measured;
  Figures simulated;

  /// The largest of three: those of p50 and p99 relative to what was measured, and that of the shed
  /// share relative to what was measured, at least to kLeastShed.
  double error() const;
};

/// Errors of smaller shares are noise: one of a twentieth of this share is one per mille.
inline constexpr double kLeastShed = 0.05;
/// Larger plans are refused beyond it.
inline constexpr double kMostError = 0.15;

/// Time of a joined run with so many rows.
struct RowTime {
  std::int32_t rows = 1;
  std::int64_t compute_ns = 0;  ///< the mean
};

/// A model on one group of cores of a machine.
struct CalibratedModel {
  std::string name;
  /// Times of runs of `batch_rows` rows, as the daemon's histogram has them.
  std::vector<terms::Latency::Bucket> compute = {};
  std::int64_t compute_ns = 0;  ///< their mean
  /// Of runs of fewer rows, in ascending order. Times between two of them lie on a line.
  std::vector<RowTime> row_times = {};
  std::int64_t gap_ns = 0;        ///< between two runs of a busy group
  std::int64_t request_ns = 0;    ///< that each further request of a joined run adds to the gap
  std::int64_t overhead_ns = 0;   ///< of protocol and client, both ways
  std::int32_t depth = 1;         ///< slots
  std::int32_t queue_limit = 0;   ///< requests that wait beyond the slots
  std::int32_t batch_rows = 1;    ///< 1: every request runs alone
  std::int64_t max_delay_ns = 0;  ///< that a request waits for others
  std::int64_t memory_bytes = 0;
  std::int64_t load_ns = 0;  ///< from a request for a model that is not loaded to its start
  std::vector<CalibrationRun> runs = {};

  /// The largest error of all runs; 1 without any.
  double error() const;
  /// Mean time of a run of so many rows. A model that joins nothing takes the same for any number.
  /// More than `batch_rows` rows take as many passes. Requires: rows > 0.
  double run_ns(std::int64_t rows) const;
  /// Mean gap behind a run of so many requests. Requires: num_requests > 0.
  double gap_after_ns(std::int64_t num_requests) const;
};

inline constexpr std::size_t kMaxCalibratedModels = 1000;
inline constexpr std::size_t kMaxCalibrationBytes = std::size_t{16} << 20;

/// JSON; docs/scale.md says what it is for.
std::string calibration_json(const std::vector<CalibratedModel>& models);
/// Fails: kInvalidArgument naming the member.
Result<std::vector<CalibratedModel>> parse_calibration(std::string_view text);
/// Reads a file. Fails: as reading and parse_calibration, with the path.
Result<std::vector<CalibratedModel>> read_calibration(const std::string& path);

}  // namespace sluice::fleet
