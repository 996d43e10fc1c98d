#include "rpc/wire/locks/lock_checks.h"

#include <absl/synchronization/mutex.h>
#include <gtest/gtest.h>

namespace sluice::rpc::wire {
namespace {

TEST(LockChecks, CycleIsNotReportedOnceTheyAreSkipped) {
  skip_lock_checks();
  absl::Mutex a;
  absl::Mutex b;
  ::testing::internal::CaptureStderr();
  {
    const absl::MutexLock first(&a);
    const absl::MutexLock second(&b);
  }
  {
    const absl::MutexLock first(&b);
    const absl::MutexLock second(&a);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace sluice::rpc::wire
