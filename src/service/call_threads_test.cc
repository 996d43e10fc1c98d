#include "service/call_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

namespace sluice::service {
namespace {

class KeptLog final : public Log {
 public:
  bool is_wanted(LogLevel /*level*/) const override { return true; }
  void write(LogLevel /*level*/, std::string_view event) override {
    const std::lock_guard lock(mutex_);
    events_ += event;
  }
  LogLevel level() const override { return LogLevel::kError; }
  void set_level(LogLevel /*level*/) override {}
  std::string events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  std::mutex mutex_;
  std::string events_;
};

TEST(CallThreads, RunBesideEachOtherUpToTheLimit) {
  NoLog log;
  CallThreads threads(3, 10, log);
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
    NoLog log;
    CallThreads threads(1, 1, log);
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
  NoLog log;
  CallThreads threads(2, 2, log);
  threads.close();
  bool is_done = false;
  EXPECT_EQ(threads.run([&] { is_done = true; }).code(), Code::kUnavailable);
  EXPECT_FALSE(is_done);
  threads.run_always([&] { is_done = true; });
  EXPECT_TRUE(is_done);
}

TEST(CallThreads, WorkThatThrowsEndsAlone) {
  KeptLog log;
  bool is_done = false;
  {
    CallThreads threads(1, 10, log);
    ASSERT_TRUE(threads.run([] { throw std::bad_alloc(); }).is_ok());
    ASSERT_TRUE(threads.run([&] { is_done = true; }).is_ok());
  }
  EXPECT_TRUE(is_done);
  EXPECT_NE(log.events().find("call.failed"), std::string::npos) << log.events();
}

}  // namespace
}  // namespace sluice::service
