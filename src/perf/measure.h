// A measurement of a target under one load.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "perf/load.h"

namespace sluice::perf {

struct MeasureOptions {
  std::int64_t window_ns = 5'000'000'000;
  int max_windows = 10;    ///< at least kStableWindows
  double tolerance = 0.1;  ///< as is_stable
};

/// As many windows must agree.
inline constexpr int kStableWindows = 3;

struct Measurement {
  LoadForm form;
  Window figures;  ///< of the last kStableWindows windows
  bool is_stable = false;
  /// Why the figures show the load generator's limit and not the target's; empty: they do not.
  std::string limit;
};

/// Blocks until the last windows agree, or for `max_windows`; for a replay, which is one window and
/// stable, to its end. Sends one request first, so that a target that cannot answer is an error
/// and no measurement; an answer after the deadline is a figure of a busy target.
/// Fails: with what that request failed.
Result<Measurement> measure(Target& target, const LoadForm& form, const MeasureOptions& options,
                            Clock& clock = system_clock());

/// As Measurement::limit. `num_processors`: those that this process may use. A generator is at its
/// limit if a thread of it was busy nine tenths of the time, if it used nine tenths of the
/// processors, or if requests of an open loop left so late that a tenth of the mean latency is the
/// generator's.
std::string generator_limit(const Window& figures, const LoadForm& form, bool is_in_process,
                            int num_processors);

}  // namespace sluice::perf
