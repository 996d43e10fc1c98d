#include "runtime/inference/thread_driver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/eventually.h"

namespace sluice::runtime {
namespace {

using sluice::testing::eventually;

constexpr std::int64_t kHourNs = 3'600'000'000'000;

/// Has a little work for each wait, and a deadline.
class Machine final : public Steppable {
 public:
  StepResult step(std::int64_t now_ns) override {
    if (std::this_thread::get_id() != caller_) ++num_steps_of_thread;
    if (deadline_ns == 0) deadline_ns = now_ns + kHourNs;
    if (now_ns >= deadline_ns) is_expired = true;
    StepResult result;
    result.has_moved = num_done < num_wanted;
    if (result.has_moved) {
      ++num_done;
      if (Driver* driver = announces_to) driver->announce();
    }
    result.longest_stage_ns = 1;
    result.next_deadline_ns = is_expired ? kNoDeadline : deadline_ns.load();
    return result;
  }

  std::atomic<Driver*> announces_to = nullptr;
  std::atomic<int> num_steps_of_thread = 0;
  std::atomic<int> num_wanted = 0;
  std::atomic<int> num_done = 0;
  std::atomic<std::int64_t> deadline_ns = 0;
  std::atomic<bool> is_expired = false;

 private:
  const std::thread::id caller_ = std::this_thread::get_id();
};

class ThreadDriverTest : public ::testing::Test {
 protected:
  ThreadDriverTest() { machine_.announces_to = driver_.get(); }
  void work() {
    const int wanted = ++machine_.num_wanted;
    EXPECT_TRUE(driver_->wait([&] { return machine_.num_done >= wanted; }, kNoDeadline));
  }

  ThreadDrivers drivers_;
  Machine machine_;
  std::unique_ptr<Driver> driver_ = drivers_.drive(machine_, {});
};

TEST_F(ThreadDriverTest, CallerDoesNotWakeTheThreadForADeadlineThatItKnows) {
  EXPECT_TRUE(eventually([&] {
    const int before = machine_.num_steps_of_thread;
    for (int i = 0; i < 100; ++i) work();
    return machine_.num_steps_of_thread == before;
  }));
}

TEST_F(ThreadDriverTest, ThreadStepsAtADeadlineThatACallerMadeEarlier) {
  for (int i = 0; i < 100; ++i) {
    work();
    machine_.is_expired = false;
    machine_.deadline_ns = drivers_.clock().now_ns() + 100'000;
    work();  // the last step on this thread
    EXPECT_TRUE(eventually([&] { return machine_.is_expired.load(); })) << i;
    machine_.deadline_ns = drivers_.clock().now_ns() + kHourNs;
  }
}

/// Each of its two steps waits for the other one to begin.
class PairOfSteps final : public Steppable {
 public:
  StepResult step(std::int64_t /*now_ns*/) override {
    StepResult result;
    result.has_moved = num_begun.fetch_add(1) < 2;
    if (!result.has_moved) return result;
    EXPECT_TRUE(eventually([this] { return num_begun >= 2; }));
    ++num_ended;
    return result;
  }

  std::atomic<int> num_begun = 0;
  std::atomic<int> num_ended = 0;
};

TEST(ThreadDrivers, MachineWithTwoPlacesIsSteppedByTwoThreadsAtATime) {
  ThreadDrivers drivers;
  PairOfSteps machine;
  const auto driver = drivers.drive(machine, {}, 2);
  driver->notify();
  driver->notify();
  EXPECT_TRUE(eventually([&] { return machine.num_ended == 2; }));
}

}  // namespace
}  // namespace sluice::runtime
