#include "runtime/line/completion_pace.h"

#include <gtest/gtest.h>

namespace sluice::runtime {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(CompletionPace, RetryIsAfterHalfOfTheLineAtTheAveragePace) {
  CompletionPace pace;
  pace.resume(0);
  for (int i = 1; i <= 20; ++i) pace.complete(i * 4 * kMs);
  EXPECT_EQ(pace.retry_after_ns(10), 20 * kMs);
  EXPECT_EQ(pace.retry_after_ns(1), 4 * kMs) << "at least one completion";
}

TEST(CompletionPace, PauseOfAnIdleModelDoesNotCount) {
  CompletionPace pace;
  pace.resume(0);
  pace.complete(2 * kMs);
  pace.resume(3'600'000 * kMs);
  pace.complete(3'600'002 * kMs);
  EXPECT_EQ(pace.retry_after_ns(2), 2 * kMs);
}

TEST(CompletionPace, FollowsAChangeOfPace) {
  CompletionPace pace;
  pace.resume(0);
  std::int64_t now_ns = 0;
  for (int i = 0; i < 20; ++i) pace.complete(now_ns += kMs);
  for (int i = 0; i < 40; ++i) pace.complete(now_ns += 100 * kMs);
  EXPECT_GT(pace.retry_after_ns(2), 95 * kMs);
}

TEST(CompletionPace, HintsAreBoundedForAnyPaceAndLine) {
  CompletionPace pace;
  EXPECT_EQ(pace.retry_after_ns(1000), 10 * kMs) << "no completion yet";
  pace.resume(0);
  pace.complete(10);
  EXPECT_EQ(pace.retry_after_ns(2), kMs);
  pace.complete(std::int64_t{1} << 62);
  EXPECT_EQ(pace.retry_after_ns(65'536), 60'000 * kMs);
}

}  // namespace
}  // namespace sluice::runtime
