// Where random operators of a model get their numbers from.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace sluice::exec {

/// A seed and a counter of runs. The numbers of a run depend on both, on the operation and on the
/// iteration of its loops, and on nothing else: not on threads, executors or backends. So the runs
/// that follow a seed give the same numbers in every process. Safe across threads.
class RandomSource {
 public:
  /// Without a seed: one from the system, different in every load.
  static std::shared_ptr<RandomSource> create(std::optional<std::uint64_t> seed = std::nullopt);

  explicit RandomSource(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t seed();
  /// The next run is the first one of `seed`.
  void restart(std::uint64_t seed);
  /// Seed and number of a run that starts; the first is 1.
  std::pair<std::uint64_t, std::uint64_t> next_run();

 private:
  std::mutex mutex_;
  std::uint64_t seed_;
  std::uint64_t num_runs_ = 0;
};

}  // namespace sluice::exec
