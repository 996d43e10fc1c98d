#include "engine/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice::sim {
namespace {

/// By the polar form of Box and Muller.
double standard_normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

double factor_of(const Jitter& jitter, Random& random) {
  switch (jitter.kind) {
    case JitterKind::kUniform: return 1 + jitter.spread * (2 * random.uniform() - 1);
    case JitterKind::kNormal: return 1 + jitter.spread * standard_normal(random);
    case JitterKind::kExponential: return 1 - jitter.spread * std::log(1 - random.uniform());
    case JitterKind::kNone: break;
  }
  return 1;
}

}  // namespace

std::int64_t jittered(std::int64_t duration_ns, const Jitter& jitter, Random& random) {
  if (jitter.kind == JitterKind::kNone) return duration_ns;
  const double factor = std::max(0.0, factor_of(jitter, random));
  return static_cast<std::int64_t>(std::llround(static_cast<double>(duration_ns) * factor));
}

}  // namespace sluice::sim
