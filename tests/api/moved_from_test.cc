// Calls of objects that were moved from are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "sluice/parallel/data_parallel.hpp"
#include "sluice/session.hpp"
#include "sluice/statistics.hpp"
#include "two_places.h"

// NOLINTBEGIN(bugprone-use-after-move): that is what these tests are about
namespace sluice::testing {
namespace {

using ::testing::IsEmpty;

constexpr Code kRefused = Code::kInvalidArgument;

template <typename T>
Code how_it_ends(const Expected<T>& result) {
  return result ? Code::kOk : result.error().code;
}
Code how_it_ends(const std::optional<Error>& error) { return error ? error->code : Code::kOk; }

TEST(MovedFrom, ModelAndContextRefuse) {
  Model model = std::move(*Model::open(digits_package()));
  Context context = std::move(*model.create_context());
  const std::vector<float> pixels(64);
  ASSERT_FALSE(context.set_input("image", pixels, {1, 1, 8, 8}));
  ASSERT_FALSE(context.run());
  auto taken = context.take_output<float>("probabilities");
  ASSERT_TRUE(taken);

  const Model other_model = std::move(model);
  const Context other_context = std::move(context);
  const OwnedOutput<float> other_output = std::move(*taken);
  EXPECT_EQ(how_it_ends(model.create_context()), kRefused);
  EXPECT_EQ(how_it_ends(model.set_seed(1)), kRefused);
  EXPECT_EQ(model.num_inputs(), 0U);
  EXPECT_THAT(model.metadata(), IsEmpty());
  EXPECT_EQ(how_it_ends(context.set_input("image", pixels, {1, 1, 8, 8})), kRefused);
  EXPECT_EQ(how_it_ends(context.run()), kRefused);
  EXPECT_EQ(how_it_ends(context.cancel()), kRefused);
  EXPECT_EQ(how_it_ends(context.output<float>("probabilities")), kRefused);
  EXPECT_EQ(context.copied_bytes(), 0);
  EXPECT_THAT(taken->values(), IsEmpty());
  EXPECT_THAT(taken->dims(), IsEmpty());
  EXPECT_EQ(other_output.values().size(), 10U);
}

TEST(MovedFrom, RuntimeAndItsModelRefuse) {
  Runtime runtime = std::move(*Runtime::create());
  LoadedModel model = std::move(*runtime.load({.path = digits_package()}));
  DataParallel parallel = std::move(*DataParallel::create({&model}));
  const DataParallel other_parallel = std::move(parallel);
  EXPECT_EQ(how_it_ends(parallel.run(image())), kRefused);

  const LoadedModel other_model = std::move(model);
  EXPECT_EQ(how_it_ends(model.info()), kRefused);
  EXPECT_EQ(how_it_ends(model.infer(image())), kRefused);
  EXPECT_EQ(how_it_ends(model.submit(image())), kRefused);
  EXPECT_EQ(how_it_ends(model.submit(image(), [](Expected<Reply>) { FAIL(); })), kRefused);
  for (const auto& error : {model.start(), model.stop(), model.reset(), model.unload()}) {
    EXPECT_EQ(how_it_ends(error), kRefused);
  }

  const Runtime other_runtime = std::move(runtime);
  EXPECT_EQ(how_it_ends(runtime.devices()), kRefused);
  EXPECT_EQ(how_it_ends(runtime.groups()), kRefused);
  EXPECT_EQ(how_it_ends(runtime.load({.path = digits_package()})), kRefused);
  EXPECT_EQ(how_it_ends(runtime.create_group()), kRefused);
  EXPECT_EQ(how_it_ends(runtime.get_tensor(1)), kRefused);
  EXPECT_EQ(runtime.session_token(), "");
  EXPECT_EQ(how_it_ends(statistics_of(runtime, other_model)), kRefused);
  EXPECT_TRUE(other_model.infer(image())) << "the new one has all of it";
}

TEST(MovedFrom, RequestReplyAndProfileRefuse) {
  const Runtime runtime = std::move(*Runtime::create());
  const LoadedModel model = std::move(*runtime.load({.path = digits_package()}));
  Profile profile = std::move(*Profile::start(runtime));
  Request request = std::move(*model.submit(image()));
  Request other_request = std::move(request);
  EXPECT_EQ(how_it_ends(request.wait()), kRefused);
  EXPECT_EQ(how_it_ends(request.cancel()), kRefused);

  auto reply = other_request.wait();
  ASSERT_TRUE(reply);
  const Reply other_reply = std::move(*reply);
  EXPECT_EQ(reply->num_outputs(), 0U);
  EXPECT_EQ(how_it_ends(reply->array()), kRefused);
  EXPECT_EQ(reply->detail(), nullptr);

  Profile other_profile = std::move(profile);
  EXPECT_EQ(how_it_ends(profile.stop()), Code::kFailedPrecondition);
  EXPECT_THAT(profile.spans(), IsEmpty());
  EXPECT_FALSE(other_profile.stop());
}

TEST(MovedFrom, SessionAndQueuesRefuse) {
  Session session = std::move(*Session::create(digits_package()));
  const Session other_session = std::move(session);
  EXPECT_EQ(how_it_ends(session.load()), kRefused);
  EXPECT_EQ(how_it_ends(session.verify(SLUICE_PROGRAM_MAIN)), kRefused);
  EXPECT_THAT(session.tensors(), IsEmpty());

  const Runtime runtime = std::move(*Runtime::create());
  const LoadedModel model = std::move(*runtime.load({.path = digits_package()}));
  Queues queues = std::move(*Queues::open(runtime, model));
  const Queues other_queues = std::move(queues);
  std::vector<float> pixels(64);
  EXPECT_EQ(how_it_ends(queues.enqueue("image", std::span<float>(pixels))), kRefused);
}

}  // namespace
}  // namespace sluice::testing
// NOLINTEND(bugprone-use-after-move)
