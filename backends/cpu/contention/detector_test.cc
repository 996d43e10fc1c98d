#include "contention/detector.h"

#include <gtest/gtest.h>

namespace sluice::cpu {
namespace {

constexpr std::int64_t kShortRun = 1'000'000;
constexpr std::int64_t kLongRun = 300'000'000;

TEST(ContentionDetector, RisesWhenMostRunsWaitLongAndFallsAfterQuietRuns) {
  ContentionDetector detector;
  for (int i = 0; i < 100; ++i) {
    detector.note(i % 4 == 0 ? 0.2 : 0.1, kShortRun);  // occasional waits
    EXPECT_FALSE(detector.is_high());
  }
  int runs = 0;
  for (; !detector.is_high(); ++runs) detector.note(runs % 3 != 0 ? 0.2 : 0, kShortRun);
  EXPECT_LT(runs, 30);
  for (runs = 0; detector.is_high(); ++runs) detector.note(0, kShortRun);
  EXPECT_GT(runs, 10);
  EXPECT_LT(runs, 30);
  detector.note(0.9, kShortRun);  // a single run
  EXPECT_FALSE(detector.is_high());
  for (runs = 1; !detector.is_high(); ++runs) detector.note(0.9, kShortRun);
  EXPECT_LT(runs, 6);
}

TEST(ContentionDetector, ThreeLongRunsInARowChangeTheState) {
  ContentionDetector detector;
  for (const bool expected : {false, false, true}) {
    detector.note(0.9, kLongRun);
    EXPECT_EQ(detector.is_high(), expected);
  }
  for (const bool expected : {true, true, false}) {
    detector.note(0, kLongRun);
    EXPECT_EQ(detector.is_high(), expected);
  }
}

TEST(ContentionDetector, AlternatingLongRunsLeaveItLow) {
  ContentionDetector detector;
  for (int i = 0; i < 100; ++i) {
    detector.note(i % 2 == 0 ? 0.9 : 0, kLongRun);
    EXPECT_FALSE(detector.is_high());
  }
}

}  // namespace
}  // namespace sluice::cpu
