// Models that share the cores of an implicit group.
#include <gmock/gmock.h>

#include "manual_engine.h"
#include "support/eventually.h"

namespace sluice::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;  // NOLINT(google-build-using-namespace)

class SharedGroup : public ManualEngineTest {
 protected:
  Result<terms::ModelHandle> load(const std::string& name, std::vector<std::int32_t> cores = {1}) {
    LoadRequest request = load_of(add_relu_in(std::move(cores)), name);
    request.may_share = true;
    return engine_->load(request);
  }
  void expect_answer(terms::ModelHandle model) {
    const Reply reply = engine_->infer(model, request_of(1));
    ASSERT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
    EXPECT_THAT(floats(reply.outputs.at(0)), ElementsAre(2, 0, 4, 0));
  }
  terms::CoreGroupId group_of_model(terms::ModelHandle model) {
    return engine_->info(model).value().group;
  }
};

TEST_F(SharedGroup, ModelsBeyondTheCoresJoinTheGroupsWithTheFewest) {
  std::map<std::int32_t, int> models_of_group;
  for (int i = 0; i < 10; ++i) {
    const auto model = load(fmt::format("model {}", i));
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    ++models_of_group[group_of_model(*model).value()];
    expect_answer(*model);
  }
  ASSERT_EQ(models_of_group.size(), 4U) << "one for each core";
  for (const auto& [group, count] : models_of_group) {
    EXPECT_GE(count, 2);
    EXPECT_LE(count, 3);
  }
}

TEST_F(SharedGroup, RequestsOfAllModelsAreAnsweredAndSwitchesCounted) {
  group_of(3);  // leaves one core
  std::vector<terms::ModelHandle> models;
  for (const char* name : {"a", "b", "c"}) models.push_back(load(name).value());
  std::vector<Cookie> cookies;
  for (int i = 0; i < 30; ++i) {
    Request request = request_of(1);
    cookies.push_back(engine_->post(models[static_cast<std::size_t>(i % 3)], request).value());
  }
  for (const Cookie cookie : cookies) {
    EXPECT_EQ(engine_->wait(cookie, kNoDeadline).code, RuntimeCode::kOk);
  }
  const terms::GroupInfo info = engine_->list_groups().back();
  EXPECT_EQ(info.num_models, 3);
  EXPECT_GE(info.num_switches, 2);
}

TEST_F(SharedGroup, CutModelJoinsASmallerGroupInSharedMode) {
  group_of(3);
  ASSERT_TRUE(load("small").is_ok());
  const auto cut = load("cut", {1, 1});
  ASSERT_TRUE(cut.is_ok()) << cut.status().to_string();
  EXPECT_EQ(engine_->info(*cut)->mode, terms::LoadMode::kShared);
  expect_answer(*cut);
  EXPECT_EQ(terms::runtime_code_of(load("wide", {2}).status()), RuntimeCode::kNotEnoughCores);
}

TEST_F(SharedGroup, StopUnloadAndResetConcernOneModel) {
  group_of(3);
  const terms::ModelHandle a = load("a").value();
  const terms::ModelHandle b = load("b").value();
  expect_answer(a);
  ASSERT_TRUE(engine_->stop(a).is_ok());
  EXPECT_EQ(engine_->infer(a, request_of(1)).code, RuntimeCode::kFailed);
  expect_answer(b);
  ASSERT_TRUE(engine_->start(a).is_ok());
  expect_answer(a);
  ASSERT_TRUE(engine_->unload(a).is_ok());
  expect_answer(b);
  ASSERT_TRUE(engine_->unload(b).is_ok());
  EXPECT_EQ(engine_->num_free_cores(), 1);
}

TEST_F(SharedGroup, LoadsThatDoNotShareStayAlone) {
  group_of(3);
  ASSERT_TRUE(engine_->load(load_of(add_relu())).is_ok());
  EXPECT_EQ(terms::runtime_code_of(load("guest").status()), RuntimeCode::kNotEnoughCores)
      << "the owner did not allow guests";
  LoadRequest heavy = load_of(add_relu());
  heavy.weight = 0;
  EXPECT_THAT(engine_->load(heavy).status().message(), HasSubstr("weight"));
}

TEST_F(SharedGroup, WaitingRequestsKeepTheirDeadlinesAndMayBeCancelled) {
  group_of(3);
  const terms::ModelHandle a = load("a").value();
  const terms::ModelHandle b = load("b").value();
  std::vector<Cookie> cookies;
  for (int i = 0; i < 10; ++i) {
    Request request = request_of(1);
    cookies.push_back(engine_->post(a, request).value());
  }
  Request late = request_of(1);
  late.deadline_ns = sluice::testing::from_now_ns(std::chrono::nanoseconds(1));
  const auto expired = engine_->post(b, late);
  Request other = request_of(1);
  const Cookie cancelled = engine_->post(b, other).value();
  ASSERT_TRUE(engine_->cancel(cancelled).is_ok());
  if (expired.is_ok()) {
    EXPECT_EQ(engine_->wait(*expired, kNoDeadline).code, RuntimeCode::kTimeout);
  }
  EXPECT_EQ(engine_->wait(cancelled, kNoDeadline).code, RuntimeCode::kCancelled);
  for (const Cookie cookie : cookies) {
    EXPECT_EQ(engine_->wait(cookie, kNoDeadline).code, RuntimeCode::kOk);
  }
}

}  // namespace
}  // namespace sluice::runtime
