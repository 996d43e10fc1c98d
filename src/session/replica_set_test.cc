#include "session/replica_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "session/testing/fake_model.h"
#include "support/eventually.h"
#include "support/manual_clock.h"

namespace sluice::session {
namespace {

using sluice::testing::eventually;
using ::testing::ElementsAre;
using testing::FakeModel;
using ::testing::HasSubstr;
using testing::rows;
using testing::view_of;

class ReplicaSetTest : public ::testing::Test {
 protected:
  static ReplicaSet::Replicas borrow(const std::vector<FakeModel*>& models) {
    ReplicaSet::Replicas replicas;
    for (FakeModel* model : models) replicas.emplace_back(model, [](FakeModel*) {});
    return replicas;
  }
  /// Without a timer: the tests advance the clock.
  std::shared_ptr<ReplicaSet> make(const std::vector<FakeModel*>& models,
                                   terms::ReplicaOptions options = {}) {
    options.has_timer = false;
    auto set = ReplicaSet::create(borrow(models), options);
    EXPECT_TRUE(set.is_ok()) << set.status().to_string();
    return std::move(set).value();
  }
  /// A request whose answer's code goes to the end of `codes_`.
  runtime::Request request(std::int64_t deadline_ns = kNoDeadline) {
    runtime::Request result;
    result.inputs = {view_of(x_)};
    result.deadline_ns = deadline_ns;
    result.on_done = [this](const runtime::Reply& reply) { codes_.push_back(reply.code); };
    return result;
  }
  std::uint64_t submit(ReplicaSet& set, std::int64_t deadline_ns = kNoDeadline) {
    runtime::Request taken = request(deadline_ns);
    auto id = set.submit(taken);
    EXPECT_TRUE(id.is_ok()) << id.status().to_string();
    return id.is_ok() ? *id : 0;
  }

  ManualClock clock_;
  std::vector<float> x_ = rows(1, 1);
  std::vector<RuntimeCode> codes_;
};

TEST_F(ReplicaSetTest, LeastLoadedReplicaIsNext) {
  FakeModel a(4, 1, clock_);
  FakeModel b(4, 1, clock_);
  const auto set = make({&a, &b});
  for (int i = 0; i < 4; ++i) submit(*set);
  EXPECT_EQ(a.num_waiting(), 2U);
  EXPECT_EQ(b.num_waiting(), 2U);
  a.complete();
  a.complete();
  submit(*set);
  submit(*set);
  EXPECT_EQ(a.num_waiting(), 2U) << "it had less to do";
  while (a.complete() || b.complete()) {
  }
}

TEST_F(ReplicaSetTest, RoundRobinTakesTurns) {
  FakeModel a(4, 1, clock_);
  FakeModel b(4, 1, clock_);
  const auto set = make({&a, &b}, {terms::ReplicaChoice::kRoundRobin, 8});
  for (int i = 0; i < 3; ++i) {
    submit(*set);
    a.complete();
  }
  EXPECT_EQ(a.num_submitted(), 2U);
  EXPECT_EQ(b.num_submitted(), 1U);
  while (b.complete()) {
  }
}

TEST_F(ReplicaSetTest, WhenAllAreFullRequestsWaitInLine) {
  FakeModel a(1, 1, clock_);
  FakeModel b(1, 1, clock_);
  const auto set = make({&a, &b}, {terms::ReplicaChoice::kLeastLoaded, 2});
  for (int i = 0; i < 4; ++i) submit(*set);
  runtime::Request one_more = request();
  const auto refused = set->submit(one_more);
  EXPECT_EQ(terms::runtime_code_of(refused.status()), RuntimeCode::kQueueFull);
  EXPECT_TRUE(one_more.on_done) << "left as it was";
  while (a.complete() || b.complete()) {
  }
  EXPECT_EQ(codes_.size(), 4U);
}

TEST_F(ReplicaSetTest, ReplicasFullOfForeignRequestsAreSkipped) {
  FakeModel a(1, 1, clock_);
  FakeModel b(1, 1, clock_);
  runtime::Request others = request();
  ASSERT_TRUE(a.submit(others).is_ok());
  const auto set = make({&a, &b});
  submit(*set);
  EXPECT_EQ(b.num_waiting(), 1U);
  b.complete();
  a.complete();
}

TEST_F(ReplicaSetTest, RequestsLeaveTheLineByPriorityThenDeadlineThenArrival) {
  FakeModel a(1, 1, clock_);
  const auto set = make({&a});
  submit(*set);  // the replica is full
  std::vector<int> order;
  const auto wait_in_line = [&](int name, std::int32_t priority, std::int64_t deadline_ns) {
    runtime::Request taken = request(deadline_ns);
    taken.priority = priority;
    taken.on_done = [&order, name](const runtime::Reply&) { order.push_back(name); };
    ASSERT_TRUE(set->submit(taken).is_ok());
  };
  wait_in_line(1, 0, kNoDeadline);
  wait_in_line(2, 0, 500);
  wait_in_line(3, 1, kNoDeadline);
  wait_in_line(4, 0, 400);
  wait_in_line(5, 0, kNoDeadline);
  while (a.complete()) {
  }
  EXPECT_THAT(order, ElementsAre(3, 4, 2, 1, 5));
}

TEST_F(ReplicaSetTest, DeadlineInLineIsKept) {
  FakeModel a(1, 1, clock_);
  const auto set = make({&a});
  submit(*set);
  submit(*set, 100);
  submit(*set, 200);
  EXPECT_EQ(set->expire(), 100);
  clock_.advance(100);
  EXPECT_EQ(set->expire(), 200);
  EXPECT_THAT(codes_, ElementsAre(RuntimeCode::kTimeout));
  runtime::Request past = request(50);
  EXPECT_EQ(terms::runtime_code_of(set->submit(past).status()), RuntimeCode::kTimeout);
  while (a.complete()) {
  }
  EXPECT_EQ(codes_.size(), 3U);
}

TEST_F(ReplicaSetTest, WaitingForAnAnswerKeepsTheLinesDeadlinesToo) {
  FakeModel a(1, 1, clock_);
  const auto set = make({&a});
  submit(*set);
  submit(*set, 100);
  std::thread waiter([&] {
    EXPECT_TRUE(set->wait([&] { return clock_.now_ns() >= 100; }, kNoDeadline));
    (void)set->expire();
  });
  EXPECT_TRUE(eventually([&] { return clock_.num_waiting() != 0; }));
  clock_.advance(100);
  waiter.join();
  EXPECT_THAT(codes_, ElementsAre(RuntimeCode::kTimeout));
  a.complete();
}

TEST_F(ReplicaSetTest, WaitingRequestsCanBeCancelled) {
  FakeModel a(1, 1, clock_);
  const auto set = make({&a});
  const std::uint64_t running = submit(*set);
  const std::uint64_t waiting = submit(*set);
  EXPECT_TRUE(set->cancel(waiting));
  EXPECT_THAT(codes_, ElementsAre(RuntimeCode::kCancelled));
  EXPECT_FALSE(set->cancel(waiting));
  EXPECT_FALSE(set->cancel(running)) << "this model cancels nothing";
  a.complete();
}

TEST_F(ReplicaSetTest, ShutdownAnswersAllRequests) {
  FakeModel a(1, 1, clock_);
  FakeModel b(1, 1, clock_);
  a.completes_in_wait = b.completes_in_wait = true;
  const auto set = make({&a, &b});
  for (int i = 0; i < 5; ++i) submit(*set);
  set->shutdown();
  EXPECT_EQ(std::ranges::count(codes_, RuntimeCode::kOk), 2);
  EXPECT_EQ(std::ranges::count(codes_, RuntimeCode::kCancelled), 3);
  runtime::Request late = request();
  EXPECT_EQ(terms::runtime_code_of(set->submit(late).status()), RuntimeCode::kFailed);
}

/// On models that run requests in `wait`, the sleeper may be the only one there is to run it.
TEST_F(ReplicaSetTest, SleepingDriverWakesForAnotherThreadsRequest) {
  FakeModel a(1, 1, clock_);
  FakeModel b(1, 1, clock_);
  a.completes_in_wait = b.completes_in_wait = true;
  const auto set = make({&a, &b});
  std::atomic<bool> is_done = false;
  std::thread waiter([&] { EXPECT_TRUE(set->wait([&] { return is_done.load(); }, kNoDeadline)); });
  EXPECT_TRUE(eventually([&] { return clock_.num_waiting() != 0; }));
  runtime::Request one = request();
  one.on_done = [&](const runtime::Reply&) { is_done = true; };
  ASSERT_TRUE(set->submit(one).is_ok());
  waiter.join();
}

TEST_F(ReplicaSetTest, CancellingAWaitingRequestWakesItsWaiter) {
  FakeModel a(1, 1, clock_);
  FakeModel b(1, 1, clock_);
  for (const std::vector<FakeModel*>& replicas : {std::vector<FakeModel*>{&a}, {&a, &b}}) {
    const auto set = make(replicas);
    for (std::size_t i = 0; i < replicas.size(); ++i) submit(*set);
    std::atomic<bool> is_done = false;
    runtime::Request waiting = request();
    waiting.on_done = [&](const runtime::Reply&) { is_done = true; };
    const auto id = set->submit(waiting);
    ASSERT_TRUE(id.is_ok());
    std::thread waiter(
        [&] { EXPECT_TRUE(set->wait([&] { return is_done.load(); }, kNoDeadline)); });
    EXPECT_TRUE(eventually([&] { return clock_.num_waiting() != 0; }));
    EXPECT_TRUE(set->cancel(*id));
    waiter.join();
    while (a.complete() || b.complete()) {
    }
  }
}

TEST_F(ReplicaSetTest, ReplicasAreOfOneModel) {
  FakeModel a(1, 1, clock_);
  FakeModel b(1, 2, clock_);
  EXPECT_THAT(ReplicaSet::create(borrow({&a, &b}), {}).status().message(),
              HasSubstr("of one model"));
  EXPECT_FALSE(ReplicaSet::create({}, {}).is_ok());
}

TEST_F(ReplicaSetTest, RequestsWithoutADeadlineGetTheSets) {
  FakeModel a(1, 1, clock_);
  terms::ReplicaOptions options;
  options.timeout_ns = 100;
  const auto set = make({&a}, options);
  submit(*set);
  submit(*set);
  EXPECT_EQ(set->expire(), 100);
  clock_.advance(100);
  (void)set->expire();
  EXPECT_THAT(codes_, ElementsAre(RuntimeCode::kTimeout));
  a.complete();
  EXPECT_THAT(codes_, ElementsAre(RuntimeCode::kTimeout, RuntimeCode::kOk))
      << "once it runs the model keeps the deadline";
}

TEST_F(ReplicaSetTest, TimerAppliesDeadlinesThatNobodyWaitsFor) {
  FakeModel a(1, 1, clock_);
  const auto set = ReplicaSet::create(borrow({&a}), {}).value();
  submit(*set);
  std::atomic<bool> is_late = false;
  runtime::Request waiting = request(100);
  waiting.on_done = [&](const runtime::Reply& reply) {
    is_late = reply.code == RuntimeCode::kTimeout;
  };
  ASSERT_TRUE(set->submit(waiting).is_ok());
  clock_.advance(100);
  EXPECT_TRUE(eventually([&] { return is_late.load(); }));
  a.complete();
}

/// Every caller gets the answer to its own question, or cancelled, whatever the schedule.
void run_many_callers(const ReplicaSet::Replicas& replicas, bool shuts_down_early) {
  const auto set = ReplicaSet::create(replicas, {}).value();
  std::atomic<int> num_answers = 0;
  std::vector<std::thread> callers;
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    callers.emplace_back([&, seed] {
      for (int i = 0; i < 150; ++i) {
        auto x = rows(1, static_cast<float>(seed * 1000 + static_cast<std::uint32_t>(i)));
        runtime::Request question;
        question.inputs = {view_of(x)};
        const runtime::Reply reply = runtime::infer(*set, std::move(question));
        if (reply.code == RuntimeCode::kOk) {
          ASSERT_EQ(testing::floats(reply.outputs.at(0)), testing::doubled(x));
        } else {
          ASSERT_TRUE(shuts_down_early) << reply.errors.to_status().to_string();
        }
        ++num_answers;
      }
    });
  }
  if (shuts_down_early) {
    EXPECT_TRUE(eventually([&] { return num_answers >= 50; }));
    set->shutdown();
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(num_answers, 600);
}

TEST_F(ReplicaSetTest, ManyCallersShareReplicas) {
  FakeModel a(2, 1, system_clock());
  FakeModel b(2, 1, system_clock());
  a.completes_in_wait = b.completes_in_wait = true;
  run_many_callers(borrow({&a, &b}), false);
}

TEST_F(ReplicaSetTest, ShutdownWakesAllConcurrentCallers) {
  FakeModel a(2, 1, system_clock());
  FakeModel b(2, 1, system_clock());
  a.completes_in_wait = b.completes_in_wait = true;
  run_many_callers(borrow({&a, &b}), true);
}

}  // namespace
}  // namespace sluice::session
