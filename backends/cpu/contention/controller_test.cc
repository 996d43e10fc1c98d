#include "contention/controller.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace sluice::cpu {
namespace {

constexpr std::int64_t kControlMs = 1'000'000;

/// Pinned runs of 5 ms of two members, of which one waited nearly all of the time.
void note_long_waits(ContentionController& controller, int runs) {
  for (std::int64_t run = 1; run <= runs; ++run) {
    controller.note_pinned_run(5 * kControlMs, run * 4 * kControlMs, 2);
  }
}

/// Unpinned runs of 5 ms from `from_ns` on, while other processes use `share` of one core.
void note_unpinned_runs(ContentionController& controller, double share, std::int64_t from_ns) {
  constexpr int kRuns = 60;
  for (std::int64_t run = 1; run <= kRuns; ++run) {
    const std::int64_t now_ns = from_ns + run * 5 * kControlMs;
    controller.note_unpinned_run(now_ns, 5 * kControlMs, std::array{1}, [&] {
      const auto busy = static_cast<std::int64_t>(share * static_cast<double>(now_ns));
      return std::optional(ContentionProbe::Seen{busy, 0});
    });
  }
}

TEST(ContentionController, LongWaitsOfPinnedRunsReportContention) {
  ContentionController controller;
  EXPECT_FALSE(controller.is_contended());
  note_long_waits(controller, 1);
  EXPECT_FALSE(controller.is_contended());
  note_long_waits(controller, 10);
  EXPECT_TRUE(controller.is_contended());
}

TEST(ContentionController, ContentionEndsWhenTheCoresAreFree) {
  ContentionController controller;
  note_long_waits(controller, 10);
  note_unpinned_runs(controller, 0.9, 1000 * kControlMs);
  EXPECT_TRUE(controller.is_contended());
  note_unpinned_runs(controller, 0.0, 5000 * kControlMs);
  EXPECT_FALSE(controller.is_contended());
}

}  // namespace
}  // namespace sluice::cpu
