#include "service/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace sluice::service {
namespace {

TEST(Workers, RunBesideEachOtherUpToTheLimit) {
  Workers workers(3, 10);
  std::latch all(3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(workers.run([&] { all.arrive_and_wait(); }).is_ok());  // hangs with fewer threads
  }
  all.wait();
}

TEST(Workers, AFullLineRefusesButWhatMustBeDoneIsDone) {
  std::atomic<int> num_done = 0;
  std::latch release(1);
  {
    Workers workers(1, 1);
    std::latch started(1);
    ASSERT_TRUE(workers
                    .run([&] {
                      started.count_down();
                      release.wait();
                    })
                    .is_ok());
    started.wait();
    ASSERT_TRUE(workers.run([&] { ++num_done; }).is_ok());
    EXPECT_EQ(workers.run([&] { ++num_done; }).code(), Code::kUnavailable);
    workers.run_always([&] { ++num_done; });
    release.count_down();
  }
  EXPECT_EQ(num_done, 2);
}

TEST(Workers, AfterTheEndOnlyWhatMustBeDoneIsDoneByTheCaller) {
  Workers workers(2, 2);
  workers.close();
  bool is_done = false;
  EXPECT_EQ(workers.run([&] { is_done = true; }).code(), Code::kUnavailable);
  EXPECT_FALSE(is_done);
  workers.run_always([&] { is_done = true; });
  EXPECT_TRUE(is_done);
}

}  // namespace
}  // namespace sluice::service
