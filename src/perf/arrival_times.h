// When the requests of an open loop are due.
#pragma once

#include <cstdint>
#include <random>

namespace sluice::perf {

/// Times at a rate: equal intervals, or exponential ones, which make a Poisson process. The same
/// seed gives the same times. Used by one thread.
class ArrivalTimes {
 public:
  /// Requires: per_second > 0.
  ArrivalTimes(double per_second, bool is_poisson, std::uint64_t seed)
      : mean_ns_(1e9 / per_second), is_poisson_(is_poisson), random_(seed) {}

  /// Nanoseconds since the start, ascending; the first is 0.
  std::int64_t next_ns() {
    const double due_ns = next_;
    // A sum of rounded intervals would drift.
    next_ += is_poisson_ ? mean_ns_ * std::exponential_distribution<double>()(random_) : mean_ns_;
    return static_cast<std::int64_t>(due_ns);
  }

 private:
  const double mean_ns_;
  const bool is_poisson_;
  std::mt19937_64 random_;
  double next_ = 0;
};

}  // namespace sluice::perf
