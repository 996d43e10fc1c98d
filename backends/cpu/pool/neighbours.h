#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::cpu {

/// Nanoseconds for which `cpus` were not idle since the machine started, of all of them together,
/// from the text of /proc/stat (proc_stat(5): user, nice, system, idle, iowait, irq, softirq,
/// steal; iowait is idle, too). In steps of a tick. None where a processor is not listed.
std::optional<std::int64_t> parse_busy_ns(std::string_view stat, std::span<const int> cpus,
                                          std::int64_t ns_per_tick);

/// The same of this machine, now; takes tens of microseconds.
std::optional<std::int64_t> read_busy_ns(std::span<const int> cpus);

/// How much of the processors that a team wants others have, while runs follow each other. Told of
/// every run, it looks now and then. Used by one thread at a time.
class Neighbours {
 public:
  /// Nanoseconds since some time in the past.
  struct Seen {
    std::int64_t busy = 0;  ///< for which the processors were
    std::int64_t own = 0;   ///< of that for ourselves
  };

  /// Whether they are found to have gone after a run, told as to `share_after`. They may hold us up
  /// all the same, by what cannot be seen: who was told so, and soon asks again, is told later.
  template <typename Look>
  bool are_gone(std::int64_t now_ns, std::int64_t run_ns, std::span<const int> cpus,
                const Look& look) {
    const std::optional<double> share = share_after(now_ns, run_ns, cpus, look);
    const std::int64_t since_ns = now_ns - told_ns_;
    if (!share || *share >= kFreeShare || since_ns < patience_ns_) return false;
    patience_ns_ = since_ns < kSoonNs ? std::min(patience_ns_ * 2, kMostNs) : kFirstNs;
    told_ns_ = now_ns;
    return true;
  }

  /// A run that took `run_ns` ended at `now_ns`. The share of `cpus` that others had since the last
  /// look; none in between, and after a pause, for what happened meanwhile says nothing about runs.
  /// `look` gives what is seen, or none where nothing can be.
  template <typename Look>
  std::optional<double> share_after(std::int64_t now_ns, std::int64_t run_ns,
                                    std::span<const int> cpus, const Look& look) {
    const bool is_first = now_ns - run_ns - last_ns_ > kPauseNs || !std::ranges::equal(cpus, cpus_);
    last_ns_ = now_ns;
    if (is_first) {
      cpus_.assign(cpus.begin(), cpus.end());
      seen_.reset();
      return std::nullopt;
    }
    if (seen_ && now_ns - looked_ns_ < kWindowNs) return std::nullopt;
    const std::optional<Seen> before = seen_;
    const std::int64_t time_ns = (now_ns - looked_ns_) * static_cast<std::int64_t>(cpus.size());
    looked_ns_ = now_ns;
    seen_ = look();
    if (!before || !seen_) return std::nullopt;
    const std::int64_t others_ns = (seen_->busy - before->busy) - (seen_->own - before->own);
    return std::max(0.0, static_cast<double>(others_ns) / static_cast<double>(time_ns));
  }

 private:
  static constexpr std::int64_t kPauseNs = 20'000'000;
  static constexpr std::int64_t kWindowNs = 100'000'000;  ///< ten ticks, as a rule
  static constexpr double kFreeShare = 0.25;              ///< ticks are coarse
  static constexpr std::int64_t kFirstNs = 200'000'000;
  static constexpr std::int64_t kMostNs = 1'600'000'000;
  static constexpr std::int64_t kSoonNs = 2 * kMostNs;

  std::int64_t told_ns_ = 0;      ///< when they were found to have gone
  std::int64_t patience_ns_ = 0;  ///< how long after that they may be again
  std::vector<int> cpus_;
  std::int64_t last_ns_ = 0;    ///< end of the last run
  std::int64_t looked_ns_ = 0;  ///< when `seen_` was
  std::optional<Seen> seen_;
};

}  // namespace sluice::cpu
