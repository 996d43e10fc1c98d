#include "service/table/model_by_name.h"

#include <gmock/gmock.h>

#include "dispatch/testing/keeping_sink.h"

namespace sluice::service {
namespace {

using ::testing::HasSubstr;

TEST(ModelByName, RequestHoldsItsModelUntilTheAnswerAndARefusedOneDoesNot) {
  const auto sink = std::make_shared<dispatch::testing::KeepingSink>();
  ServedModel served;
  served.name = "m";
  served.ref = std::make_shared<dispatch::ModelRef>(sink, std::vector<bool>{}, false, 1);
  const std::weak_ptr<dispatch::ModelRef> ref = served.ref;
  ModelTable table;
  table.add(terms::ModelHandle{1}, std::move(served));
  const auto model = ModelByName::find(table, "m", std::nullopt);
  ASSERT_TRUE(model.is_ok());
  const auto num_before = ref.use_count();

  int num_answers = 0;
  runtime::Request request;
  request.will_wait = true;
  request.on_done = [&](const runtime::Reply& /*reply*/) { ++num_answers; };
  sink->has_no_memory = true;
  EXPECT_THAT((*model)->submit(request).status().message(), HasSubstr("no memory left"));
  EXPECT_EQ(ref.use_count(), num_before);
  EXPECT_TRUE(request.will_wait && request.on_done) << "a refused request is as it was";

  sink->has_no_memory = false;
  ASSERT_TRUE((*model)->submit(request).is_ok());
  EXPECT_EQ(ref.use_count(), num_before + 1);
  EXPECT_FALSE(sink->requests.at(0).will_wait) << "no caller runs the model while it waits";
  sink->answer(0);
  EXPECT_EQ(num_answers, 1);
  EXPECT_EQ(ref.use_count(), num_before);
}

}  // namespace
}  // namespace sluice::service
