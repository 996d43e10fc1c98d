#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::cpu {

/// Sum over `cpus` of the nanoseconds for which each was busy since boot, parsed from the text of
/// /proc/stat (proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal). Idle and
/// iowait do not count. The resolution is one tick. Nullopt if a processor is not listed or its
/// line is malformed.
std::optional<std::int64_t> parse_busy_ns(std::string_view stat, std::span<const int> cpus,
                                          std::int64_t ns_per_tick);

/// The same for this machine, now. Takes tens of microseconds.
std::optional<std::int64_t> read_busy_ns(std::span<const int> cpus);

/// Estimates which share of a team's cores other processes use, from one look every tenth of a
/// second while runs follow each other. Used by one thread at a time.
class ContentionProbe {
 public:
  /// Counters since some time in the past, in nanoseconds.
  struct Seen {
    std::int64_t busy = 0;  ///< time for which the processors were busy
    std::int64_t own = 0;   ///< the part of it that this process used
  };

  /// True if the other processes have left, after a run as in `share_after`.
  ///
  /// A false alarm is possible: a process may hold the team up and hardly show in /proc/stat. So
  /// after an alarm that is followed soon by contention again, the next one is delayed, twice as
  /// long each time up to kMaxPatienceNs.
  template <typename Look>
  bool are_gone(std::int64_t now_ns, std::int64_t run_ns, std::span<const int> cpus,
                const Look& look) {
    const std::optional<double> share = share_after(now_ns, run_ns, cpus, look);
    const std::int64_t since_ns = now_ns - told_ns_;
    if (!share || *share >= kFreeShare || since_ns < patience_ns_) return false;
    patience_ns_ = since_ns < kSoonNs ? std::min(patience_ns_ * 2, kMaxPatienceNs) : kFirstNs;
    told_ns_ = now_ns;
    return true;
  }

  /// The share of `cpus` that other processes used since the last look, after a run that took
  /// `run_ns` and ended at `now_ns`. Nullopt between looks and after a pause: use of the cores
  /// during a pause says nothing about runs. `look` returns a Seen, or nullopt if the machine
  /// does not report it.
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
  static constexpr std::int64_t kWindowNs = 100'000'000;  ///< ten ticks of the usual 10 ms
  /// A window has ten ticks, so a smaller share could be rounding.
  static constexpr double kFreeShare = 0.25;
  static constexpr std::int64_t kFirstNs = 200'000'000;
  static constexpr std::int64_t kMaxPatienceNs = 1'600'000'000;
  static constexpr std::int64_t kSoonNs = 2 * kMaxPatienceNs;

  std::int64_t told_ns_ = 0;      ///< time of the last alarm
  std::int64_t patience_ns_ = 0;  ///< shortest time from it to the next one
  std::vector<int> cpus_;
  std::int64_t last_ns_ = 0;    ///< end of the last run
  std::int64_t looked_ns_ = 0;  ///< time of `seen_`
  std::optional<Seen> seen_;
};

}  // namespace sluice::cpu
