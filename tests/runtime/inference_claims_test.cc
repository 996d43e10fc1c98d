// Requests and their queue, as docs/seed-coverage claims them.
#include <gmock/gmock.h>

#include "manual_engine.h"

namespace sluice::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing;  // NOLINT(google-build-using-namespace)

class InferenceClaims : public ManualEngineTest {
 protected:
  terms::ModelHandle load_of_depth(int depth) {
    LoadRequest request = load_of(add_relu());
    request.depth = depth;
    request.queue_limit = 0;
    return load(request);
  }
};

TEST_F(InferenceClaims, SynchronousCallReturnsWithTheOutputs) {
  const Reply reply = engine_->infer(load(load_of(add_relu())), request_of(1));
  EXPECT_EQ(reply.code, RuntimeCode::kOk);
  EXPECT_TRUE(reply.errors.empty());
  EXPECT_THAT(floats(reply.outputs.at(0)), ElementsAre(2, 0, 4, 0));
}

TEST_F(InferenceClaims, AsynchronousCallReturnsBeforeTheInferenceIsDone) {
  const Cookie cookie = post(load(load_of(add_relu())), 1);
  EXPECT_EQ(engine_->poll(cookie).code, RuntimeCode::kPending);
  EXPECT_THAT(engine_->completed(std::vector{cookie}), IsEmpty());
  EXPECT_EQ(engine_->wait(cookie, kNoDeadline).code, RuntimeCode::kOk);
}

TEST_F(InferenceClaims, EveryPendingRequestHasItsOwnCookieAndAnswer) {
  const terms::ModelHandle model = load_of_depth(3);
  const std::vector<Cookie> cookies = {post(model, 1), post(model, 2), post(model, 3)};
  EXPECT_NE(cookies[0], cookies[1]);
  EXPECT_NE(cookies[1], cookies[2]);
  EXPECT_THAT(floats(engine_->wait(cookies[2], kNoDeadline).outputs.at(0)),
              ElementsAre(4, 1, 6, 0));
  EXPECT_THAT(floats(engine_->wait(cookies[0], kNoDeadline).outputs.at(0)),
              ElementsAre(2, 0, 4, 0));
  EXPECT_THAT(floats(engine_->wait(cookies[1], kNoDeadline).outputs.at(0)),
              ElementsAre(3, 0, 5, 0));
}

TEST_F(InferenceClaims, CompletionCanBeCheckedForManyBeforeAnyIsTaken) {
  const terms::ModelHandle model = load_of_depth(2);
  const std::vector<Cookie> cookies = {post(model, 1), post(model, 2)};
  const auto all_done = [&] { return engine_->completed(cookies).size() == 2; };
  ASSERT_TRUE(drivers_.wait(all_done, kNoDeadline));
  for (const Cookie cookie : cookies) EXPECT_EQ(engine_->poll(cookie).code, RuntimeCode::kOk);
}

TEST_F(InferenceClaims, PendingRequestCanBeCancelled) {
  const terms::ModelHandle model = load(load_of(add_relu()));
  const Cookie cookie = post(model, 1);
  ASSERT_TRUE(engine_->cancel(cookie).is_ok());
  EXPECT_EQ(engine_->wait(cookie, kNoDeadline).code, RuntimeCode::kCancelled);
  EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kOk);
}

TEST_F(InferenceClaims, FailureHasACodeOfItsOwnAndAListOfErrorsWithRemedies) {
  Request request = request_of(1);
  request.inputs[0].dims = {2, 2};
  const Reply reply = engine_->infer(load(load_of(add_relu())), request);
  EXPECT_EQ(reply.code, RuntimeCode::kBadInput);
  EXPECT_TRUE(reply.outputs.empty());
  ASSERT_FALSE(reply.errors.empty());
  EXPECT_EQ(reply.errors.code(), reply.code);
  EXPECT_THAT(reply.errors.entries()[0].message, HasSubstr("f32[2,2]"));
  EXPECT_FALSE(reply.errors.entries()[0].remedy.empty());
}

TEST_F(InferenceClaims, RequestIsCheckedBeforeItIsQueued) {
  const terms::ModelHandle model = load_of_depth(1);
  Request request = request_of(1);
  request.inputs.clear();
  EXPECT_EQ(terms::runtime_code_of(engine_->post(model, request).status()), RuntimeCode::kBadInput);
  post(model, 1);  // the only place is still free
}

TEST_F(InferenceClaims, QueueHasAsManyPlacesAsTheLoadSaid) {
  const terms::ModelHandle model = load_of_depth(3);
  EXPECT_EQ(engine_->info(model)->depth, 3);
  std::vector<Cookie> cookies;
  for (int i = 0; i < 3; ++i) cookies.push_back(post(model, 1));
  Request fourth = request_of(1);
  EXPECT_EQ(terms::runtime_code_of(engine_->post(model, fourth).status()), RuntimeCode::kQueueFull);
  EXPECT_EQ(engine_->wait(cookies[0], kNoDeadline).code, RuntimeCode::kOk);
  EXPECT_TRUE(engine_->post(model, fourth).is_ok());
}

TEST_F(InferenceClaims, NextInputsAreTakenBeforeTheLastInferenceIsDone) {
  const terms::ModelHandle model = load_of_depth(2);
  const Cookie first = post(model, 1);
  const Cookie second = post(model, 2);
  EXPECT_EQ(engine_->poll(first).code, RuntimeCode::kPending);
  EXPECT_EQ(engine_->wait(second, kNoDeadline).code, RuntimeCode::kOk);
  EXPECT_EQ(engine_->wait(first, kNoDeadline).code, RuntimeCode::kOk);
}

TEST_F(InferenceClaims, MemoryGrowsWithTheDepthBySlots) {
  const auto footprint_of = [&](int depth) {
    LoadRequest request = load_of(add_relu());
    request.depth = depth;
    return engine_->estimate(request).value();
  };
  const terms::Footprint one = footprint_of(1);
  const terms::Footprint four = footprint_of(4);
  EXPECT_GT(one.context_bytes, 0);
  EXPECT_EQ(four.total_bytes() - one.total_bytes(), 3 * one.context_bytes);
  const terms::ModelHandle shallow = load_of_depth(1);
  const terms::ModelHandle deep = load_of_depth(4);
  EXPECT_EQ(engine_->info(deep)->slots_bytes, 4 * engine_->info(shallow)->slots_bytes);
}

TEST_F(InferenceClaims, DefaultDepthIsCoresAndOneMore) {
  EXPECT_EQ(engine_->info(load(load_of(add_relu_in({2, 1}))))->depth, 4);
  EXPECT_EQ(engine_->info(load(load_of(add_relu_in({1}))))->depth, 2);
}

TEST_F(InferenceClaims, SharedModelTakesOneRequestAtATime) {
  LoadRequest request = load_of(add_relu_in({2, 1}));
  request.group = group_of(2);
  const terms::ModelHandle model = load(request);
  EXPECT_EQ(engine_->info(model)->mode, terms::LoadMode::kShared);
  EXPECT_EQ(engine_->info(model)->num_slots, 1U);
  EXPECT_EQ(engine_->info(model)->depth, 1);
}

}  // namespace
}  // namespace sluice::runtime
