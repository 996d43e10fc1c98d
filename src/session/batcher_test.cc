#include "session/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "session/testing/fake_model.h"
#include "support/eventually.h"

namespace sluice::session {
namespace {

using sluice::testing::eventually;
using testing::doubled;
using ::testing::ElementsAre;
using testing::FakeModel;
using testing::floats;
using ::testing::HasSubstr;
using testing::rows;
using testing::view_of;

/// A caller with rows of its own.
struct Caller {
  std::vector<float> x;
  std::uint64_t id = 0;
  std::optional<runtime::Reply> reply;

  bool is_right() const {
    return reply && reply->code == runtime::RuntimeCode::kOk &&
           floats(reply->outputs.at(0)) == doubled(x);
  }
};

class BatcherTest : public ::testing::Test {
 protected:
  std::unique_ptr<Batcher> make(FakeModel& model, const BatchOptions& options) {
    auto batcher = Batcher::create(model, options);
    EXPECT_TRUE(batcher.is_ok()) << batcher.status().to_string();
    return std::move(batcher).value();
  }
  std::unique_ptr<Caller> submit(Batcher& batcher, std::int64_t num_rows,
                                 std::int64_t deadline_ns = kNoDeadline) {
    auto caller = std::make_unique<Caller>();
    first_ += 100;
    caller->x = rows(num_rows, first_);
    runtime::Request request;
    request.inputs = {view_of(caller->x)};
    request.deadline_ns = deadline_ns;
    request.on_done = [caller = caller.get()](runtime::Reply reply) {
      caller->reply = std::move(reply);
    };
    auto id = batcher.submit(request);
    EXPECT_TRUE(id.is_ok()) << id.status().to_string();
    if (id.is_ok()) caller->id = *id;
    return caller;
  }

  ManualClock clock_;
  float first_ = 0;
};

TEST_F(BatcherTest, PartialBatchesOfSeveralCallersAreMergedAndSplitAgain) {
  FakeModel model(1, 4, clock_);
  const auto batcher = make(model, {0, 1000});
  const auto a = submit(*batcher, 1);
  const auto b = submit(*batcher, 2);
  EXPECT_EQ(model.num_waiting(), 0U) << "three rows of four: it waits";
  const auto c = submit(*batcher, 1);
  ASSERT_EQ(model.num_waiting(), 1U);
  model.complete();
  EXPECT_TRUE(a->is_right());
  EXPECT_TRUE(b->is_right());
  EXPECT_TRUE(c->is_right());
  EXPECT_EQ(batcher->num_batches(), 1);
  EXPECT_EQ(batcher->num_rows(), 4);
}

TEST_F(BatcherTest, PartialBatchIsPaddedWithZerosAfterTheDelay) {
  FakeModel model(1, 4, clock_);
  const auto batcher = make(model, {0, 1000});
  const auto a = submit(*batcher, 1);
  clock_.advance(400);
  const auto b = submit(*batcher, 1);
  EXPECT_EQ(batcher->flush(), 1000) << "by the older of the two";
  clock_.advance(599);
  EXPECT_EQ(batcher->flush(), 1000);
  EXPECT_EQ(model.num_waiting(), 0U);
  clock_.advance(1);
  EXPECT_EQ(batcher->flush(), kNoDeadline);
  ASSERT_EQ(model.num_waiting(), 1U);
  EXPECT_THAT(model.rows_seen(), ElementsAre(4)) << "the compiled batch";
  const auto* data = static_cast<const float*>(model.input_address());
  EXPECT_THAT(std::vector<float>(data + 4, data + 8), ElementsAre(0, 0, 0, 0));
  model.complete();
  EXPECT_TRUE(a->is_right());
  EXPECT_TRUE(b->is_right());
}

TEST_F(BatcherTest, AModelOfAnyNumberOfRowsIsNotPadded) {
  FakeModel model(1, -1, clock_);
  const auto batcher = make(model, {8, 0});
  const auto a = submit(*batcher, 3);
  model.complete();
  EXPECT_THAT(model.rows_seen(), ElementsAre(3));
  EXPECT_TRUE(a->is_right());
}

TEST_F(BatcherTest, AWholeBatchIsNotCopied) {
  FakeModel model(1, 4, clock_);
  const auto batcher = make(model, {0, 1000});
  const auto a = submit(*batcher, 4);
  EXPECT_EQ(model.input_address(), a->x.data());
  model.complete();
  EXPECT_TRUE(a->is_right());
}

TEST_F(BatcherTest, ARequestOfManyRowsSpansBatches) {
  FakeModel model(2, 4, clock_);
  const auto batcher = make(model, {0, 1000});
  const auto a = submit(*batcher, 10);
  const auto b = submit(*batcher, 2);
  while (model.complete()) {
  }
  EXPECT_TRUE(a->is_right());
  EXPECT_TRUE(b->is_right()) << "with the remainder of the other";
  EXPECT_EQ(batcher->num_batches(), 3);
}

TEST_F(BatcherTest, RowsAreCollectedWhileTheModelIsBusy) {
  FakeModel model(1, 4, clock_);
  const auto batcher = make(model, {0, 0});
  const auto a = submit(*batcher, 1);
  const auto b = submit(*batcher, 1);
  const auto c = submit(*batcher, 1);
  EXPECT_EQ(model.num_submitted(), 1U);
  model.complete();
  model.complete();
  EXPECT_TRUE(a->is_right() && b->is_right() && c->is_right());
  EXPECT_EQ(batcher->num_batches(), 2) << "b and c went together";
}

TEST_F(BatcherTest, ResultsGoToTheCallersMemory) {
  FakeModel model(1, 4, clock_);
  const auto batcher = make(model, {0, 0});
  auto x = rows(2, 5);
  std::vector<float> y(4);
  std::vector<float> small(1);
  runtime::Request request;
  request.inputs = {view_of(x)};
  request.outputs = {{small.data(), 4}};
  EXPECT_THAT(batcher->submit(request).status().message(),
              HasSubstr("output \"y\" has 16 bytes, the memory bound to it 4"));
  request.outputs = {{y.data(), 16}};
  bool is_done = false;
  request.on_done = [&](const runtime::Reply& reply) {
    is_done = true;
    EXPECT_EQ(reply.outputs.at(0).view.data, y.data());
  };
  ASSERT_TRUE(batcher->submit(request).is_ok());
  model.complete();
  EXPECT_TRUE(is_done);
  EXPECT_EQ(y, doubled(x));
}

TEST_F(BatcherTest, ErrorFailsEveryRequestOfTheBatch) {
  FakeModel model(1, 4, clock_);
  const auto batcher = make(model, {0, 1000});
  const auto a = submit(*batcher, 2);
  const auto b = submit(*batcher, 2);
  const auto c = submit(*batcher, 4);
  model.complete(runtime::runtime_error(runtime::RuntimeCode::kDeviceError, "lost"));
  model.complete();
  EXPECT_EQ(a->reply->code, runtime::RuntimeCode::kDeviceError);
  EXPECT_EQ(b->reply->code, runtime::RuntimeCode::kDeviceError);
  EXPECT_TRUE(c->is_right());
}

TEST_F(BatcherTest, WaitingRequestsExpireAndCanBeCancelled) {
  FakeModel model(1, 4, clock_);
  const auto batcher = make(model, {0, 1000});
  const auto a = submit(*batcher, 1, 100);
  const auto b = submit(*batcher, 1);
  EXPECT_EQ(batcher->flush(), 100);
  clock_.advance(100);
  (void)batcher->flush();
  EXPECT_EQ(a->reply->code, runtime::RuntimeCode::kTimeout);
  EXPECT_TRUE(batcher->cancel(b->id));
  EXPECT_EQ(b->reply->code, runtime::RuntimeCode::kCancelled);
  EXPECT_FALSE(batcher->cancel(b->id));
  clock_.advance(2000);
  (void)batcher->flush();
  EXPECT_EQ(model.num_submitted(), 0U);
}

TEST_F(BatcherTest, CancellingARequestWakesItsWaiter) {
  FakeModel model(1, 4, clock_);
  const auto batcher = make(model, {0, 1000});
  auto x = rows(1, 1);
  std::atomic<bool> is_done = false;
  runtime::Request request;
  request.inputs = {view_of(x)};
  request.on_done = [&](const runtime::Reply&) { is_done = true; };
  const auto id = batcher->submit(request);
  ASSERT_TRUE(id.is_ok());
  std::thread waiter(
      [&] { EXPECT_TRUE(batcher->wait([&] { return is_done.load(); }, kNoDeadline)); });
  EXPECT_TRUE(eventually([&] { return clock_.num_waiting() != 0; }));
  EXPECT_TRUE(batcher->cancel(*id));
  waiter.join();
}

TEST_F(BatcherTest, ShutdownAnswersAllRequests) {
  FakeModel model(1, 4, clock_);
  model.completes_in_wait = true;
  const auto batcher = make(model, {0, 1000});
  const auto running = submit(*batcher, 6);
  const auto waiting = submit(*batcher, 1);
  batcher->shutdown();
  EXPECT_TRUE(running->is_right()) << "some of its rows ran already";
  EXPECT_EQ(waiting->reply->code, runtime::RuntimeCode::kCancelled);
}

TEST_F(BatcherTest, WrongInputsAreNamed) {
  FakeModel model(1, 4, clock_);
  const auto batcher = make(model, {0, 0});
  auto x = rows(2, 1);
  runtime::Request request;
  request.inputs = {{x.data(), 16, ir::ElementType::kF32, {4}}};
  const auto refused = batcher->submit(request);
  EXPECT_EQ(runtime::runtime_code_of(refused.status()), runtime::RuntimeCode::kBadInput);
  EXPECT_EQ(refused.status().message(), "input \"x\": got f32[4], model takes f32[batch,2]");
  request.inputs = {{x.data(), 0, ir::ElementType::kF32, {0, 2}}};
  EXPECT_FALSE(batcher->submit(request).is_ok());
  FakeModel any(1, -1, clock_);
  EXPECT_THAT(Batcher::create(any, {}).status().message(), HasSubstr("say how many make a batch"));
  EXPECT_FALSE(Batcher::create(model, {3, 0}).is_ok());
}

}  // namespace
}  // namespace sluice::session
