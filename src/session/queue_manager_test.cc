#include "session/queue_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "session/testing/fake_model.h"
#include "support/eventually.h"
#include "support/manual_clock.h"

namespace sluice::session {
namespace {

using sluice::testing::eventually;
using testing::doubled;
using testing::FakeModel;
using ::testing::HasSubstr;
using testing::rows;

/// Counts callbacks and keeps the last.
struct Seen {
  std::atomic<int> count = 0;
  QueueCompletion last;

  QueueCallback callback() {
    return {[](void* context, const QueueCompletion& completion) {
              auto* seen = static_cast<Seen*>(context);
              seen->last = completion;
              ++seen->count;
            },
            this};
  }
};

class QueueManagerTest : public ::testing::Test {
 protected:
  std::unique_ptr<QueueManager> make(FakeModel& model, std::size_t capacity = 0) {
    auto manager = QueueManager::create(model, {capacity});
    EXPECT_TRUE(manager.is_ok()) << manager.status().to_string();
    return std::move(manager).value();
  }

  ManualClock clock_;
  Seen seen_in_;
  Seen seen_out_;
};

TEST_F(QueueManagerTest, EveryTensorHasAQueueOfItsOwn) {
  FakeModel model(2, 1, clock_);
  const auto manager = make(model);
  ASSERT_NE(manager->find("x"), nullptr);
  ASSERT_NE(manager->find("y"), nullptr);
  EXPECT_EQ(manager->find("z"), nullptr);
  EXPECT_EQ(manager->inputs().size(), 1U);
  EXPECT_EQ(manager->find("x")->capacity(), 4U) << "twice the depth";
}

TEST_F(QueueManagerTest, TriesAgainWhenOthersHaveFilledTheModelsLine) {
  FakeModel model(1, 1, clock_);
  const auto manager = make(model);
  model.refuse(terms::runtime_error(RuntimeCode::kQueueFull, "full of requests of others"));
  auto x = rows(1, 1);
  std::vector<float> y(2);
  ASSERT_TRUE(manager->find("x")->enqueue(x.data(), 8, seen_in_.callback()).is_ok());
  ASSERT_TRUE(manager->find("y")->enqueue(y.data(), 8, seen_out_.callback()).is_ok());
  EXPECT_EQ(model.num_waiting(), 0U);
  model.refuse(ok_status());
  ASSERT_TRUE(eventually([&] { return model.num_waiting() == 1; })) << "nobody pumps it";
  model.complete();
  EXPECT_EQ(seen_out_.count, 1);
  EXPECT_EQ(seen_out_.last.code, RuntimeCode::kOk);
}

TEST_F(QueueManagerTest, ClosesWhileItWaitsToTryAgain) {
  FakeModel model(1, 1, clock_);
  const auto manager = make(model);
  model.refuse(terms::runtime_error(RuntimeCode::kQueueFull, "full of requests of others"));
  auto x = rows(1, 1);
  std::vector<float> y(2);
  ASSERT_TRUE(manager->find("x")->enqueue(x.data(), 8, seen_in_.callback()).is_ok());
  ASSERT_TRUE(manager->find("y")->enqueue(y.data(), 8, seen_out_.callback()).is_ok());
  manager->close();
  EXPECT_EQ(seen_out_.last.code, RuntimeCode::kCancelled);
}

TEST_F(QueueManagerTest, ManyThreadsEnqueueForOneTensor) {
  FakeModel model(1, 1, clock_);
  const auto manager = make(model);
  constexpr int kEach = 200;
  auto x = rows(1, 1);
  std::vector<float> y(2);
  std::vector<std::thread> threads;
  const auto put = [&](const char* name, float* data, Seen& seen) {
    for (int i = 0; i < kEach;) {
      const Status status = manager->find(name)->enqueue(data, 8, seen.callback());
      if (status.is_ok()) ++i;
      if (!status.is_ok()) std::this_thread::yield();
      EXPECT_TRUE(status.is_ok() || terms::runtime_code_of(status) == RuntimeCode::kQueueFull)
          << status.to_string();
    }
  };
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { put("x", x.data(), seen_in_); });
    threads.emplace_back([&] { put("y", y.data(), seen_out_); });
  }
  EXPECT_TRUE(eventually([&] {
    while (model.complete()) {
    }
    return seen_in_.count == 3 * kEach && seen_out_.count == 3 * kEach;
  }));
  for (std::thread& thread : threads) thread.join();
}

TEST_F(QueueManagerTest, TensorBytesAreReadAndWrittenInPlace) {
  FakeModel model(1, 3, clock_);
  const auto manager = make(model);
  auto x = rows(3, 1);
  std::vector<float> y(6);
  ASSERT_TRUE(manager->find("x")->enqueue(x.data(), 24, seen_in_.callback()).is_ok());
  EXPECT_EQ(model.num_waiting(), 0U) << "there is nowhere to write to yet";
  ASSERT_TRUE(manager->find("y")->enqueue(y.data(), 24, seen_out_.callback()).is_ok());
  ASSERT_EQ(model.num_waiting(), 1U);
  EXPECT_EQ(model.input_address(), x.data()) << "no copy";
  EXPECT_EQ(seen_in_.count, 0);
  model.complete();
  EXPECT_EQ(seen_in_.count, 1);
  EXPECT_EQ(seen_out_.last.code, RuntimeCode::kOk);
  EXPECT_EQ(seen_out_.last.size_bytes, 24);
  EXPECT_EQ(y, doubled(x));
}

TEST_F(QueueManagerTest, InputsAreEnqueuedWhileTheModelRuns) {
  FakeModel model(1, 1, clock_);
  const auto manager = make(model, 4);
  std::vector<std::vector<float>> x;
  std::vector<std::vector<float>> y(5, std::vector<float>(2));
  for (int i = 0; i < 5; ++i) x.push_back(rows(1, static_cast<float>(i)));
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(manager->find("x")->enqueue(x[i].data(), 8, seen_in_.callback()).is_ok());
    ASSERT_TRUE(manager->find("y")->enqueue(y[i].data(), 8, seen_out_.callback()).is_ok());
  }
  EXPECT_EQ(model.num_waiting(), 1U) << "the model's depth";
  EXPECT_EQ(manager->find("x")->size(), 4U) << "the others wait in the ring";
  while (model.complete()) {
  }
  EXPECT_EQ(seen_out_.count, 5);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(y[i], doubled(x[i])) << "in order";
}

TEST_F(QueueManagerTest, FullQueueRefusesOrWaitsUntilTheDeadline) {
  FakeModel model(1, 1, clock_);
  const auto manager = make(model, 2);
  auto x = rows(1, 1);
  TensorQueue& queue = *manager->find("x");
  ASSERT_TRUE(queue.enqueue(x.data(), 8, {}).is_ok());
  ASSERT_TRUE(queue.enqueue(x.data(), 8, {}).is_ok());
  const Status full = queue.enqueue(x.data(), 8, {});
  EXPECT_EQ(terms::runtime_code_of(full), RuntimeCode::kQueueFull);
  EXPECT_THAT(full.message(), HasSubstr("\"x\" is full"));
  std::thread late([&] {
    EXPECT_EQ(terms::runtime_code_of(queue.enqueue(x.data(), 8, {}, 10)), RuntimeCode::kQueueFull);
  });
  EXPECT_TRUE(eventually([&] { return clock_.num_waiting() != 0; }));
  clock_.advance(10);
  late.join();
  std::thread in_time([&] { EXPECT_TRUE(queue.enqueue(x.data(), 8, {}, 1000).is_ok()); });
  EXPECT_TRUE(eventually([&] { return clock_.num_waiting() != 0; }));
  std::vector<float> y(2);
  ASSERT_TRUE(manager->find("y")->enqueue(y.data(), 8, {}).is_ok()) << "makes room";
  in_time.join();
  while (model.complete()) {
  }
}

TEST_F(QueueManagerTest, WrongSizesAreNamed) {
  FakeModel model(1, 3, clock_);
  const auto manager = make(model);
  auto x = rows(3, 1);
  const Status small = manager->find("x")->enqueue(x.data(), 16, seen_in_.callback());
  EXPECT_EQ(terms::runtime_code_of(small), RuntimeCode::kBadInput);
  EXPECT_EQ(small.message(), "\"x\": got 16 bytes, f32[3,2] takes 24");
  EXPECT_FALSE(manager->find("x")->enqueue(nullptr, 24, {}).is_ok());
  EXPECT_FALSE(manager->find("y")->enqueue(x.data(), 16, {}).is_ok()) << "too small for the output";
  EXPECT_EQ(seen_in_.count, 0);
}

TEST_F(QueueManagerTest, NumberOfRowsFollowsFromTheSize) {
  FakeModel model(1, -1, clock_);
  const auto manager = make(model);
  auto x = rows(5, 1);
  std::vector<float> y(10);
  ASSERT_TRUE(manager->find("x")->enqueue(x.data(), 40, {}).is_ok());
  ASSERT_TRUE(manager->find("y")->enqueue(y.data(), 40, {}).is_ok());
  model.complete();
  EXPECT_EQ(model.rows_seen(), std::vector<std::int64_t>{5});
  EXPECT_EQ(y, doubled(x));
  EXPECT_FALSE(manager->find("x")->enqueue(x.data(), 12, {}).is_ok());
}

TEST_F(QueueManagerTest, FailedRequestReportsToEveryTensor) {
  FakeModel model(1, 1, clock_);
  const auto manager = make(model);
  auto x = rows(1, 1);
  std::vector<float> y(2);
  ASSERT_TRUE(manager->find("x")->enqueue(x.data(), 8, seen_in_.callback()).is_ok());
  ASSERT_TRUE(manager->find("y")->enqueue(y.data(), 8, seen_out_.callback()).is_ok());
  model.complete(terms::runtime_error(RuntimeCode::kDeviceError, "lost"));
  EXPECT_EQ(seen_in_.last.code, RuntimeCode::kDeviceError);
  EXPECT_EQ(seen_out_.last.code, RuntimeCode::kDeviceError);
}

TEST_F(QueueManagerTest, RefusedRequestReportsToEveryTensor) {
  FakeModel model(1, 1, clock_);
  const auto manager = make(model);
  model.refuse(terms::runtime_error(RuntimeCode::kFailed, "not started"));
  auto x = rows(1, 1);
  ASSERT_TRUE(manager->find("x")->enqueue(x.data(), 8, seen_in_.callback()).is_ok());
  ASSERT_TRUE(manager->find("y")->enqueue(x.data(), 8, seen_out_.callback()).is_ok());
  EXPECT_EQ(seen_in_.last.code, RuntimeCode::kFailed);
  EXPECT_EQ(seen_out_.count, 1);
}

TEST_F(QueueManagerTest, CloseAnswersAllRequests) {
  FakeModel model(1, 1, clock_);
  model.completes_in_wait = true;
  const auto manager = make(model, 4);
  auto x = rows(1, 1);
  std::vector<float> y(2);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(manager->find("x")->enqueue(x.data(), 8, seen_in_.callback()).is_ok());
  }
  ASSERT_TRUE(manager->find("y")->enqueue(y.data(), 8, seen_out_.callback()).is_ok());
  manager->close();
  EXPECT_EQ(seen_out_.last.code, RuntimeCode::kOk) << "what ran completes";
  EXPECT_EQ(seen_in_.count, 3);
  EXPECT_EQ(seen_in_.last.code, RuntimeCode::kOk);
  EXPECT_EQ(terms::runtime_code_of(manager->find("x")->enqueue(x.data(), 8, {})),
            RuntimeCode::kFailed);
}

TEST_F(QueueManagerTest, ThreadsPerTensorAndARunnerKeepTheOrder) {
  constexpr int kRequests = 2000;
  FakeModel model(3, 1, clock_);
  const auto manager = make(model);
  auto x = rows(1, 1);
  std::vector<float> y(2);
  const auto fill = [&](const char* name, float* data, Seen& seen) {
    for (int i = 0; i < kRequests; ++i) {
      EXPECT_TRUE(eventually(
          [&] { return manager->find(name)->enqueue(data, 8, seen.callback()).is_ok(); }));
    }
  };
  std::thread inputs([&] { fill("x", x.data(), seen_in_); });
  std::thread outputs([&] { fill("y", y.data(), seen_out_); });
  EXPECT_TRUE(eventually([&] {
    while (model.complete()) continue;
    return seen_out_.count >= kRequests;
  }));
  inputs.join();
  outputs.join();
  EXPECT_EQ(seen_in_.count, kRequests);
  EXPECT_EQ(model.num_submitted(), static_cast<std::uint64_t>(kRequests));
}

}  // namespace
}  // namespace sluice::session
