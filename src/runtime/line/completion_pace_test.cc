#include "runtime/line/completion_pace.h"

#include <gtest/gtest.h>

namespace sluice::runtime {
namespace {

constexpr std::int64_t kPaceMs = 1'000'000;

TEST(CompletionPace, RetryIsAfterHalfOfTheLineAtTheAveragePace) {
  CompletionPace pace;
  pace.resume(0);
  for (int i = 1; i <= 20; ++i) pace.complete(i * 4 * kPaceMs);
  EXPECT_EQ(pace.retry_after_ns(10), 20 * kPaceMs);
  EXPECT_EQ(pace.retry_after_ns(1), 4 * kPaceMs) << "at least one completion";
}

TEST(CompletionPace, PauseOfAnIdleModelDoesNotCount) {
  CompletionPace pace;
  pace.resume(0);
  pace.complete(2 * kPaceMs);
  pace.resume(3'600'000 * kPaceMs);
  pace.complete(3'600'002 * kPaceMs);
  EXPECT_EQ(pace.retry_after_ns(2), 2 * kPaceMs);
}

TEST(CompletionPace, FollowsAChangeOfPace) {
  CompletionPace pace;
  pace.resume(0);
  std::int64_t now_ns = 0;
  for (int i = 0; i < 20; ++i) pace.complete(now_ns += kPaceMs);
  for (int i = 0; i < 40; ++i) pace.complete(now_ns += 100 * kPaceMs);
  EXPECT_GT(pace.retry_after_ns(2), 95 * kPaceMs);
}

TEST(CompletionPace, HintsAreBoundedForAnyPaceAndLine) {
  CompletionPace pace;
  EXPECT_EQ(pace.retry_after_ns(1000), 10 * kPaceMs) << "no completion yet";
  pace.resume(0);
  pace.complete(10);
  EXPECT_EQ(pace.retry_after_ns(2), kPaceMs);
  pace.complete(std::int64_t{1} << 62);
  EXPECT_EQ(pace.retry_after_ns(65'536), 60'000 * kPaceMs);
}

}  // namespace
}  // namespace sluice::runtime
