#include "runtime/inference/caller_driver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/eventually.h"

namespace sluice::runtime {
namespace {

using sluice::testing::eventually;
using sluice::testing::from_now_ns;

/// Does one piece of work in each step while there is some.
class CountingMachine final : public Steppable {
 public:
  StepResult step(std::int64_t /*now_ns*/) override {
    EXPECT_FALSE(is_in_step_.exchange(true)) << "two threads step";
    ++num_steps;
    last_thread = std::this_thread::get_id();
    StepResult result;
    result.has_moved = num_done < num_wanted;
    if (result.has_moved) ++num_done;
    is_in_step_ = false;
    return result;
  }

  std::atomic<int> num_wanted = 0;
  std::atomic<int> num_done = 0;
  std::atomic<int> num_steps = 0;
  std::atomic<std::thread::id> last_thread;

 private:
  std::atomic<bool> is_in_step_ = false;
};

class CallerDriverTest : public ::testing::Test {
 protected:
  void want(int count) {
    machine_.num_wanted = count;
    driver_.notify();
  }
  bool wait_for(int count, std::int64_t deadline_ns = kNoDeadline) {
    return driver_.wait([this, count] { return machine_.num_done >= count; }, deadline_ns);
  }

  CountingMachine machine_;
  CallerDriver driver_{machine_, system_clock()};
};

TEST_F(CallerDriverTest, StepsRunOnTheThreadThatWaits) {
  want(3);
  EXPECT_EQ(machine_.num_steps, 0);
  EXPECT_TRUE(wait_for(3));
  EXPECT_EQ(machine_.last_thread.load(), std::this_thread::get_id());
}

TEST_F(CallerDriverTest, WaitEndsAtItsDeadline) {
  EXPECT_FALSE(wait_for(1, from_now_ns(std::chrono::milliseconds(1))));
  EXPECT_GT(machine_.num_steps, 0);
}

TEST_F(CallerDriverTest, SignalMakesTheCallerWhoWaitsStepAgain) {
  std::thread caller([this] { EXPECT_TRUE(wait_for(1)); });
  EXPECT_TRUE(eventually([this] { return machine_.num_steps > 0; }));
  want(1);
  caller.join();
}

TEST_F(CallerDriverTest, CallersThatWaitTakeOverFromEachOther) {
  std::vector<std::thread> callers;
  for (int i = 1; i <= 4; ++i) {
    callers.emplace_back([this, i] {
      for (int round = 0; round < 200; ++round) EXPECT_TRUE(wait_for(round * 4 + i));
    });
  }
  for (int count = 1; count <= 800; ++count) want(count);
  for (std::thread& caller : callers) caller.join();
}

TEST_F(CallerDriverTest, CallersWithoutWorkDoNotWakeEachOther) {
  std::atomic<bool> is_over = false;
  const auto wait = [&] { EXPECT_TRUE(driver_.wait([&] { return is_over.load(); }, kNoDeadline)); };
  std::thread first(wait);
  std::thread second(wait);
  // Both sleep once the count stands still.
  EXPECT_TRUE(eventually([&] {
    const int before = machine_.num_steps;
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    return before > 0 && machine_.num_steps == before;
  }));
  is_over = true;
  driver_.announce();
  first.join();
  second.join();
}

}  // namespace
}  // namespace sluice::runtime
