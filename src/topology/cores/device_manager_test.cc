#include "topology/cores/device_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "support/eventually.h"
#include "support/manual_clock.h"
#include "topology/testing/topology_testing.h"

namespace sluice::topology {
namespace {

using ::testing::HasSubstr;
using Group = Result<std::shared_ptr<const CoreGroup>>;
using sluice::testing::eventually;

class DeviceManagerTest : public ::testing::Test {
 protected:
  std::shared_ptr<const CoreGroup> take(const terms::CoreRequest& request) {
    auto group = manager_.acquire(request, WaitPolicy::fail());
    EXPECT_TRUE(group.is_ok()) << group.status().to_string();
    return group.is_ok() ? *group : nullptr;
  }

  /// Asks on a thread of its own, and returns when that thread stands in the queue.
  std::future<Group> ask(const terms::CoreRequest& request, const WaitPolicy& policy,
                         const std::stop_token& stop = {}) {
    const std::size_t before = manager_.num_waiting();
    auto answer = std::async(std::launch::async, [this, request, policy, stop] {
      return manager_.acquire(request, policy, terms::GroupOrigin::kExplicit, stop);
    });
    EXPECT_TRUE(eventually([&] { return manager_.num_waiting() != before; }));
    return answer;
  }

  static bool is_pending(const std::future<Group>& answer) {
    return answer.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
  }

  ManualClock clock_;
  CoreGroups groups_{testing::four_in_a_row()};
  DeviceManager manager_{groups_, clock_};
};

TEST_F(DeviceManagerTest, GivesADeviceByIdAndByAddress) {
  EXPECT_EQ(take({.num_devices = 1, .devices = testing::ids({2})})->cores.front().device,
            terms::DeviceId(2));
  EXPECT_EQ(take({.num_devices = 1, .bus_addresses = {"00:1d.0"}})->cores.front().device,
            terms::DeviceId(1));
}

TEST_F(DeviceManagerTest, GivesConnectedDevicesOfAKind) {
  const auto group = take({.num_devices = 3, .kind = "sim"});
  EXPECT_EQ(group->cores.size(), 12U);
}

TEST_F(DeviceManagerTest, FailPolicyReturnsAtOnce) {
  take({.num_devices = 4});
  const auto group = manager_.acquire({.num_cores = 1}, WaitPolicy::fail());
  EXPECT_EQ(group.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(group.status().message(), HasSubstr("without core group 1"));
}

TEST_F(DeviceManagerTest, ImpossibleRequestFailsAtOnce) {
  take({.num_devices = 4});
  EXPECT_EQ(manager_.acquire({.kind = "gpu"}, WaitPolicy::wait()).status().code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(manager_.acquire({.num_cores = 17}, WaitPolicy::wait()).status().code(),
            Code::kFailedPrecondition);
}

TEST_F(DeviceManagerTest, DeadlineInThePastIsOneTry) {
  clock_.advance(100);
  EXPECT_TRUE(manager_.acquire({.num_cores = 4}, WaitPolicy::until(50)).is_ok());
  const auto group = manager_.acquire({.num_cores = 16}, WaitPolicy::until(50));
  EXPECT_EQ(group.status().code(), Code::kDeadlineExceeded);
}

TEST_F(DeviceManagerTest, WaitEndsAtTheDeadlineAndNamesMissingCores) {
  take({.num_devices = 4});
  auto answer = ask({.num_cores = 2}, WaitPolicy::until(1000));
  clock_.advance(999);
  EXPECT_TRUE(is_pending(answer));
  clock_.advance(1);
  const Group group = answer.get();
  EXPECT_EQ(group.status().code(), Code::kDeadlineExceeded);
  EXPECT_THAT(group.status().message(), HasSubstr("0 cores free"));
  EXPECT_EQ(manager_.num_waiting(), 0U);
}

TEST_F(DeviceManagerTest, WaiterGetsReturnedCores) {
  const auto all = take({.num_devices = 4});
  auto answer = ask({.num_devices = 2}, WaitPolicy::wait());
  EXPECT_TRUE(groups_.destroy(all->id).is_ok());
  const Group group = answer.get();
  ASSERT_TRUE(group.is_ok()) << group.status().to_string();
  EXPECT_EQ((*group)->cores.size(), 8U);
}

TEST_F(DeviceManagerTest, LaterSmallRequestDoesNotOvertakeAnEarlierLargeOne) {
  const auto first = take({.num_devices = 2});
  auto large = ask({.num_devices = 4}, WaitPolicy::wait());
  const auto small = manager_.acquire({.num_cores = 1}, WaitPolicy::fail());
  EXPECT_EQ(small.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(small.status().message(), HasSubstr("another is waiting"));
  auto waiting = ask({.num_cores = 1}, WaitPolicy::wait());
  EXPECT_TRUE(groups_.destroy(first->id).is_ok());
  const Group got = large.get();
  ASSERT_TRUE(got.is_ok());
  EXPECT_TRUE(is_pending(waiting));
  EXPECT_TRUE(groups_.destroy((*got)->id).is_ok());
  EXPECT_TRUE(waiting.get().is_ok());
}

TEST_F(DeviceManagerTest, RequestForOtherDevicesDoesNotWait) {
  take({.num_devices = 1, .devices = testing::ids({0})});
  auto waiting = ask({.num_cores = 1, .devices = testing::ids({0})}, WaitPolicy::wait());
  EXPECT_TRUE(
      manager_.acquire({.num_cores = 1, .devices = testing::ids({1})}, WaitPolicy::fail()).is_ok());
  EXPECT_TRUE(is_pending(waiting));
  manager_.close();
  EXPECT_EQ(waiting.get().status().code(), Code::kUnavailable);
}

TEST_F(DeviceManagerTest, CancelledWaiterLetsTheNextOneIn) {
  take({.num_devices = 2});
  std::stop_source stop;
  auto large = ask({.num_devices = 4}, WaitPolicy::wait(), stop.get_token());
  auto small = ask({.num_cores = 1}, WaitPolicy::wait());
  EXPECT_TRUE(is_pending(small));
  stop.request_stop();
  EXPECT_EQ(large.get().status().code(), Code::kCancelled);
  EXPECT_TRUE(small.get().is_ok());
}

TEST_F(DeviceManagerTest, RequestCancelledBeforehandGetsNothing) {
  std::stop_source stop;
  stop.request_stop();
  const auto group = manager_.acquire({.num_cores = 1}, WaitPolicy::wait(),
                                      terms::GroupOrigin::kExplicit, stop.get_token());
  EXPECT_EQ(group.status().code(), Code::kCancelled);
  EXPECT_EQ(groups_.num_free_cores(), 16);
}

TEST_F(DeviceManagerTest, CloseAnswersAllWaiters) {
  take({.num_devices = 4});
  std::vector<std::future<Group>> answers;
  for (int i = 0; i < 3; ++i) answers.push_back(ask({.num_cores = 1}, WaitPolicy::wait()));
  manager_.close();
  for (auto& answer : answers) EXPECT_EQ(answer.get().status().code(), Code::kUnavailable);
  EXPECT_EQ(manager_.acquire({.num_cores = 1}, WaitPolicy::wait()).status().code(),
            Code::kUnavailable);
}

TEST_F(DeviceManagerTest, ManyWaitersAreAllServed) {
  std::vector<std::jthread> clients;
  std::atomic<int> served = 0;
  for (int i = 0; i < 6; ++i) {
    clients.emplace_back([this, i, &served] {
      for (int round = 0; round < 50; ++round) {
        const auto group =
            manager_.acquire({.num_cores = 1 + (i * 5 + round) % 16}, WaitPolicy::wait());
        ASSERT_TRUE(group.is_ok());
        ++served;
        ASSERT_TRUE(groups_.destroy((*group)->id).is_ok());
      }
    });
  }
  clients.clear();
  EXPECT_EQ(served, 300);
  EXPECT_EQ(groups_.num_free_cores(), 16);
}

TEST_F(DeviceManagerTest, WaitEndsWhenTheDeviceIsFitAgain) {
  groups_.set_unfit(terms::DeviceId(2), "it is too hot");
  auto answer = ask({.num_cores = 4, .devices = testing::ids({2})}, WaitPolicy::wait());
  EXPECT_TRUE(is_pending(answer));
  groups_.set_unfit(terms::DeviceId(2), "");
  EXPECT_TRUE(answer.get().is_ok());
}

}  // namespace
}  // namespace sluice::topology
