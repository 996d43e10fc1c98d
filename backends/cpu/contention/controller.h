#pragma once

// CPU contention: other processes run on the cores of a team. The whole idea, once:
//
// A pinned team meets at barriers, so it is as slow as its slowest member. When another process
// takes a member's core for a time slice (some milliseconds), every member waits. The team cannot
// prevent that, but a command list can run in a way that waits for nobody. The cycle:
//
//     quiet ---------- ContentionDetector: long waits at barriers in most of the last runs --->
//     every list runs pinned                                                          contended
//     <--------- ContentionProbe: the kernel reports the cores as free ------- TeamChoice per list
//
//   * ContentionDetector sees contention from the waits of pinned runs: no system call in a quiet
//     run.
//   * TeamChoice measures, per command list, which mode is fastest now: pinned; led by the caller
//     with helpers that take pieces when they have a core; caller alone.
//   * DutyCycle makes a helper rest as long as it works, so that the scheduler has no reason to
//     preempt it while others wait for its piece.
//   * ContentionProbe reads /proc/stat between unpinned runs, which have no barrier waits to judge
//     by, and reports that the other processes have left.
//
// Why so, and what was turned down: docs/decisions/0028-cpu-contention.md.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "contention/detector.h"
#include "contention/probe.h"

namespace sluice::cpu {

/// Whether a team's cores are contended, from what its runs report.
///
/// `is_contended` may be called from any thread. The other functions are called by the thread that
/// holds the pool (ThreadPool::enter), one at a time.
class ContentionController {
 public:
  explicit ContentionController(ContentionDetector detector = {})
      : detector_(detector), is_contended_(detector.is_high()) {}

  bool is_contended() const { return is_contended_.load(std::memory_order_relaxed); }

  /// A pinned run of `run_ns` ended, in which `count` members waited `waited_ns` at barriers since
  /// the pool began.
  void note_pinned_run(std::int64_t run_ns, std::int64_t waited_ns, int count) {
    // The caller's own waits are part of the sum, but count - 1 members can wait for the slowest.
    const std::int64_t all_ns = std::max<std::int64_t>(run_ns, 1) * (count - 1);
    detector_.note(static_cast<double>(waited_ns - waited_before_ns_) / static_cast<double>(all_ns),
                   run_ns);
    waited_before_ns_ = waited_ns;
    publish();
  }

  /// A run of `run_ns` in another mode ended at `now_ns`. `look` as in ContentionProbe.
  template <typename Look>
  void note_unpinned_run(std::int64_t now_ns, std::int64_t run_ns, std::span<const int> cpus,
                         const Look& look) {
    if (!probe_.are_gone(now_ns, run_ns, cpus, look)) return;
    detector_.relax();
    publish();
  }

 private:
  void publish() { is_contended_.store(detector_.is_high(), std::memory_order_relaxed); }

  ContentionProbe probe_;
  ContentionDetector detector_;
  std::int64_t waited_before_ns_ = 0;
  std::atomic<bool> is_contended_;
};

}  // namespace sluice::cpu
