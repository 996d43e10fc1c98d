#include "contention/probe.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace sluice::cpu {
namespace {

constexpr std::int64_t kProbeMs = 1'000'000;

TEST(ContentionProbe, ParsesBusyTimeWithoutIdleAndIowait) {
  const char* stat =
      "cpu  1 1 1 1 1 1 1 1 0 0\n"
      "cpu0 10 1 5 700 50 2 3 4 9 9\n"
      "cpu1 20 0 0 900 0 0 0 0 0 0\n"
      "cpu11 500 0 0 0 0 0 0 0 0 0\n"
      "intr 5\n";
  EXPECT_EQ(parse_busy_ns(stat, std::array{0}, 10 * kProbeMs), 250 * kProbeMs);
  EXPECT_EQ(parse_busy_ns(stat, std::array{0, 1}, 10 * kProbeMs), 450 * kProbeMs);
  EXPECT_EQ(parse_busy_ns(stat, std::array{1, 2}, 10 * kProbeMs), std::nullopt);
  EXPECT_EQ(parse_busy_ns("cpu0 10 1 5\n", std::array{0}, 10 * kProbeMs), std::nullopt);
  EXPECT_EQ(parse_busy_ns("cpu0 x\ncpu0", std::array{0}, 10 * kProbeMs), std::nullopt);
  EXPECT_EQ(parse_busy_ns("", std::array{0}, 10 * kProbeMs), std::nullopt);
}

/// Runs of 5 ms on two processors, of which other processes use `share` and this one 0.3.
std::optional<double> last_share(ContentionProbe& probe, double share, std::int64_t from_ns,
                                 int runs) {
  std::optional<double> last;
  for (int i = 0; i < runs; ++i) {
    const std::int64_t now_ns = from_ns + i * 6 * kProbeMs;
    const auto look = [&] {
      const auto own = static_cast<std::int64_t>(0.3 * 2 * static_cast<double>(now_ns));
      const auto others = static_cast<std::int64_t>(share * 2 * static_cast<double>(now_ns));
      return std::optional(ContentionProbe::Seen{own + others, own});
    };
    const auto found = probe.share_after(now_ns, 5 * kProbeMs, std::array{1, 2}, look);
    if (found) last = found;
  }
  return last;
}

TEST(ContentionProbe, ShareExcludesTheTimeOfThisProcess) {
  for (const double share : {0.0, 0.2, 0.7}) {
    ContentionProbe probe;
    const auto found = last_share(probe, share, 1000 * kProbeMs, 60);
    ASSERT_TRUE(found.has_value());
    EXPECT_NEAR(*found, share, 1e-6);
  }
}

TEST(ContentionProbe, DoesNotLookAtRunsWithPausesBetweenThem) {
  ContentionProbe probe;
  for (int i = 0; i < 20; ++i) {
    const auto look = []() -> std::optional<ContentionProbe::Seen> {
      ADD_FAILURE() << "looked";
      return std::nullopt;
    };
    EXPECT_FALSE(probe.share_after((i + 1) * 100 * kProbeMs, 5 * kProbeMs, std::array{1}, look));
  }
}

TEST(ContentionProbe, IgnoresWhatHappenedInAPause) {
  ContentionProbe probe;
  last_share(probe, 0.0, 1000 * kProbeMs, 60);
  const auto found = last_share(probe, 0.5, 9000 * kProbeMs, 60);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(*found, 0.5, 1e-6);
}

/// Times of the alarms, in milliseconds after the first of `runs` runs of 5 ms.
std::vector<std::int64_t> times_gone(ContentionProbe& probe, double share, int runs) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < runs; ++i) {
    const std::int64_t now_ns = 10000 * kProbeMs + i * 5 * kProbeMs;
    const auto look = [&] {
      const auto busy = static_cast<std::int64_t>(share * static_cast<double>(now_ns));
      return std::optional(ContentionProbe::Seen{busy, 0});
    };
    if (probe.are_gone(now_ns, 5 * kProbeMs, std::array{1}, look)) times.push_back(i * 5);
  }
  return times;
}

TEST(ContentionProbe, RepeatedAlarmsAreDelayedEverLonger) {
  ContentionProbe idle_cores;
  const std::vector<std::int64_t> times = times_gone(idle_cores, 0.1, 2000);
  ASSERT_GE(times.size(), 4U);
  EXPECT_LE(times[0], 120);
  for (std::size_t i = 2; i < times.size(); ++i) {
    EXPECT_GE(times[i] - times[i - 1], times[i - 1] - times[i - 2]) << times[i];
  }
  EXPECT_LE(times.size(), 11U);
  ContentionProbe busy_cores;
  EXPECT_TRUE(times_gone(busy_cores, 0.4, 2000).empty());
}

TEST(ContentionProbe, ReportsNoShareWithoutKernelFigures) {
  ContentionProbe probe;
  for (int i = 0; i < 60; ++i) {
    const auto look = [] { return std::optional<ContentionProbe::Seen>(); };
    EXPECT_FALSE(probe.share_after((i + 1) * 6 * kProbeMs, 5 * kProbeMs, std::array{1}, look));
  }
}

}  // namespace
}  // namespace sluice::cpu
