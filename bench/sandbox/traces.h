// Arrivals of requests as serverless platforms see them: generated, with a seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::bench {

/// Requests per slot of time. The parameters are those of the StreamBox repository's traces (USENIX
/// ATC'24), as measured on the files it ships:
///   sporadic  each slot holds requests with probability 0.024, then 1 to 99 of them
///   periodic  200 sin(2 pi t / 200) plus a uniform number from -200 to 200, at least 0
///   bursty    phases of about 10 slots with 2900 requests on average and about 9 slots with 220,
///             Poisson; each slot is a spike of 1.1 times the rate with probability 0.1
enum class Pattern : std::uint8_t { kSporadic, kPeriodic, kBursty };
std::string_view pattern_name(Pattern pattern);  ///< "sporadic"
std::optional<Pattern> find_pattern(std::string_view name);

/// The same seed gives the same trace.
std::vector<std::int64_t> generate_counts(Pattern pattern, std::size_t num_slots,
                                          std::uint64_t seed);

/// Times of the requests, ascending: those of a slot are uniform in it, and a slot without requests
/// lasts as long as any other. `scale` multiplies each count; a fraction of a request becomes
/// a request with that probability.
std::vector<std::int64_t> arrivals_of(const std::vector<std::int64_t>& counts, std::int64_t slot_ns,
                                      double scale, std::uint64_t seed);

/// Figures that distinguish the patterns.
struct TraceFigures {
  double mean = 0;
  double zero_share = 0;
  double variation = 0;        ///< standard deviation divided by the mean
  double autocorrelation = 0;  ///< of neighbouring slots
};
TraceFigures figures_of(const std::vector<std::int64_t>& counts);

}  // namespace sluice::bench
