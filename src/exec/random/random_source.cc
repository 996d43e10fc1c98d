#include "exec/random/random_source.h"

#include <sys/random.h>

#include <chrono>

namespace sluice::exec {
namespace {

/// A sandbox may refuse the call; time is better than a constant then.
std::uint64_t seed_of_system() {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed)) return seed;
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

std::shared_ptr<RandomSource> RandomSource::create(std::optional<std::uint64_t> seed) {
  return std::make_shared<RandomSource>(seed ? *seed : seed_of_system());
}

std::uint64_t RandomSource::seed() {
  const std::lock_guard lock(mutex_);
  return seed_;
}

void RandomSource::restart(std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  seed_ = seed;
  num_runs_ = 0;
}

std::pair<std::uint64_t, std::uint64_t> RandomSource::next_run() {
  const std::lock_guard lock(mutex_);
  return {seed_, ++num_runs_};
}

}  // namespace sluice::exec
