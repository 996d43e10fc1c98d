#include "traces.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>

namespace sluice::bench {
namespace {

using Random = std::mt19937_64;

constexpr std::array kPatterns = {Pattern::kSporadic, Pattern::kPeriodic, Pattern::kBursty};

std::int64_t sporadic(Random& random) {
  if (!std::bernoulli_distribution(0.024)(random)) return 0;
  return std::uniform_int_distribution<std::int64_t>(1, 99)(random);
}

std::int64_t periodic(std::size_t slot, Random& random) {
  const double wave = 200 * std::sin(2 * std::numbers::pi * static_cast<double>(slot) / 200);
  const double noise = std::uniform_real_distribution<double>(-200, 200)(random);
  return static_cast<std::int64_t>(std::max(0.0, wave + noise));
}

/// The phase that a slot is in. Lengths vary by 3 slots: constant ones would repeat exactly.
class Phases {
 public:
  std::int64_t next(Random& random) {
    if (slots_left_ == 0) {
      is_busy_ = !is_busy_;
      slots_left_ = std::uniform_int_distribution<int>(-3, 3)(random) + (is_busy_ ? 10 : 9);
    }
    --slots_left_;
    double rate = is_busy_ ? 2900 : 220;
    if (std::bernoulli_distribution(0.1)(random)) rate *= 1.1;
    return std::poisson_distribution<std::int64_t>(rate)(random);
  }

 private:
  bool is_busy_ = false;
  int slots_left_ = 0;
};

}  // namespace

std::string_view pattern_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::kSporadic: return "sporadic";
    case Pattern::kPeriodic: return "periodic";
    case Pattern::kBursty: break;
  }
  return "bursty";
}

std::optional<Pattern> find_pattern(std::string_view name) {
  for (const Pattern pattern : kPatterns) {
    if (pattern_name(pattern) == name) return pattern;
  }
  return std::nullopt;
}

std::vector<std::int64_t> generate_counts(Pattern pattern, std::size_t num_slots,
                                          std::uint64_t seed) {
  Random random(seed);
  Phases phases;
  std::vector<std::int64_t> counts;
  for (std::size_t slot = 0; slot < num_slots; ++slot) {
    switch (pattern) {
      case Pattern::kSporadic: counts.push_back(sporadic(random)); break;
      case Pattern::kPeriodic: counts.push_back(periodic(slot, random)); break;
      case Pattern::kBursty: counts.push_back(phases.next(random)); break;
    }
  }
  return counts;
}

std::vector<std::int64_t> arrivals_of(const std::vector<std::int64_t>& counts, std::int64_t slot_ns,
                                      double scale, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int64_t> arrivals;
  for (std::size_t slot = 0; slot < counts.size(); ++slot) {
    const double wanted = static_cast<double>(counts[slot]) * scale;
    auto count = static_cast<std::int64_t>(wanted);
    if (std::bernoulli_distribution(wanted - std::floor(wanted))(random)) ++count;
    const std::int64_t begin_ns = static_cast<std::int64_t>(slot) * slot_ns;
    std::uniform_int_distribution<std::int64_t> within(begin_ns, begin_ns + slot_ns - 1);
    const std::size_t first = arrivals.size();
    for (std::int64_t i = 0; i < count; ++i) arrivals.push_back(within(random));
    std::sort(arrivals.begin() + static_cast<std::ptrdiff_t>(first), arrivals.end());
  }
  return arrivals;
}

TraceFigures figures_of(const std::vector<std::int64_t>& counts) {
  TraceFigures figures;
  const auto n = static_cast<double>(counts.size());
  for (const std::int64_t count : counts) {
    figures.mean += static_cast<double>(count) / n;
    figures.zero_share += count == 0 ? 1 / n : 0;
  }
  double variance = 0;
  double covariance = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double here = static_cast<double>(counts[i]) - figures.mean;
    variance += here * here / n;
    if (i > 0) covariance += here * (static_cast<double>(counts[i - 1]) - figures.mean) / n;
  }
  figures.variation = std::sqrt(variance) / figures.mean;
  figures.autocorrelation = covariance / variance;
  return figures;
}

}  // namespace sluice::bench
