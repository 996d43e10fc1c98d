#include "service/call_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace sluice::service {
namespace {

TEST(CallThreads, RunBesideEachOtherUpToTheLimit) {
  CallThreads threads(3, 10);
  std::latch all(3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(threads.run([&] { all.arrive_and_wait(); }).is_ok());  // hangs with fewer threads
  }
  all.wait();
}

TEST(CallThreads, FullQueueRefusesTasksExceptMandatoryOnes) {
  std::atomic<int> num_done = 0;
  std::latch release(1);
  {
    CallThreads threads(1, 1);
    std::latch started(1);
    ASSERT_TRUE(threads
                    .run([&] {
                      started.count_down();
                      release.wait();
                    })
                    .is_ok());
    started.wait();
    ASSERT_TRUE(threads.run([&] { ++num_done; }).is_ok());
    EXPECT_EQ(threads.run([&] { ++num_done; }).code(), Code::kUnavailable);
    threads.run_always([&] { ++num_done; });
    release.count_down();
  }
  EXPECT_EQ(num_done, 2);
}

TEST(CallThreads, ClosedPoolRunsMandatoryTasksOnTheCaller) {
  CallThreads threads(2, 2);
  threads.close();
  bool is_done = false;
  EXPECT_EQ(threads.run([&] { is_done = true; }).code(), Code::kUnavailable);
  EXPECT_FALSE(is_done);
  threads.run_always([&] { is_done = true; });
  EXPECT_TRUE(is_done);
}

}  // namespace
}  // namespace sluice::service
