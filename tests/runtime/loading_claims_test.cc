// Groups, loading and unloading, as docs/seed-coverage claims them.
#include <gmock/gmock.h>

#include "base/file.h"
#include "base/system/huge_pages.h"
#include "manual_engine.h"
#include "runtime/model/load_plan.h"
#include "support/paths.h"

namespace sluice::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;  // NOLINT(google-build-using-namespace)

class LoadingClaims : public ManualEngineTest {};

TEST_F(LoadingClaims, ManyModelsAreLoadedOnOneGroupAndItsCoresCountOnce) {
  const terms::CoreGroupId group = group_of(2);
  for (const char* name : {"a", "b", "c"}) load_on(group, name);
  EXPECT_EQ(engine_->num_free_cores(), 2);
  EXPECT_EQ(engine_->list_groups()[0].num_models, 3);
  EXPECT_EQ(engine_->list_groups()[0].active_model, "");
}

TEST_F(LoadingClaims, LoadedModelIsReadyOrStopped) {
  const terms::ModelHandle model = load_on(group_of(1), "m");
  EXPECT_EQ(engine_->info(model)->phase, terms::ModelPhase::kLoaded);
  EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kFailed);
  ASSERT_TRUE(engine_->start(model).is_ok());
  EXPECT_EQ(engine_->info(model)->phase, terms::ModelPhase::kStarted);
  EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kOk);
  ASSERT_TRUE(engine_->stop(model).is_ok());
  EXPECT_EQ(engine_->info(model)->phase, terms::ModelPhase::kStopped);
  EXPECT_EQ(engine_->infer(model, request_of(1)).code, RuntimeCode::kFailed);
}

TEST_F(LoadingClaims, UnloadingReturnsTheMemoryThatLoadingTook) {
  topology::DeviceMap map = pretended_cpu_map(4);
  map.devices[0].memory_bytes = 1 << 20;
  make(std::move(map));
  const terms::CoreGroupId group = group_of(4);
  EXPECT_EQ(engine_->list_groups()[0].memory_used_bytes, 0);
  const terms::ModelHandle first = load_on(group, "first");
  const std::int64_t of_one = engine_->list_groups()[0].memory_used_bytes;
  EXPECT_GT(of_one, 0);
  const terms::ModelHandle second = load_on(group, "second");
  EXPECT_GT(engine_->list_groups()[0].memory_used_bytes, of_one);
  ASSERT_TRUE(engine_->unload(first).is_ok());
  ASSERT_TRUE(engine_->unload(second).is_ok());
  EXPECT_EQ(engine_->list_groups()[0].memory_used_bytes, 0);
}

/// Memory of the test stands for the system's huge pages, of which there may be none.
class HugePageClaims : public LoadingClaims {
 protected:
  HugePageClaims() { HugePages::set_for_process(pages_); }
  ~HugePageClaims() override {
    engine_.reset();
    HugePages::set_for_process(nullptr);
  }
  bool holds(const void* data) {
    const auto* at = static_cast<const std::byte*>(data);
    return at >= memory_.view().data() && at < memory_.view().data() + memory_.view().size();
  }

  static constexpr std::int64_t kElements = 1 << 20;  // 4 MiB: two pages
  MutableBytes memory_ =
      MutableBytes(32 * HugePages::kPageBytes, static_cast<std::size_t>(HugePages::kPageBytes));
  std::shared_ptr<HugePages> pages_ = HugePages::over(memory_.view());
};

TEST_F(HugePageClaims, OutputsOfRunsLieInThemUntilTheReplyIsGone) {
  LoadRequest request = load_of(model_of(R"(
subgraph @0 "main" {
  input %x : f32[1048576]
  [%y : f32[1048576]] = Relu.14[%x]
  output [%y]
}
)"));
  const terms::ModelHandle model = load(request);
  const auto inputs = std::make_shared<MutableBytes>(4 * kElements);
  Request run;
  run.inputs = {{inputs->view().data(), 4 * kElements, ir::ElementType::kF32, {kElements}}};
  run.memory_owner = inputs;
  {
    const Reply reply = engine_->infer(model, std::move(run));
    ASSERT_EQ(reply.code, RuntimeCode::kOk);
    EXPECT_TRUE(holds(reply.outputs[0].view.data));
    EXPECT_EQ(pages_->num_taken(), 2) << "of the output: the input is read where it is";
  }
  EXPECT_EQ(pages_->num_taken(), 0);
}

TEST_F(HugePageClaims, LoadTakesTheMemoryOfItsSlotsFromThem) {
  LoadRequest request = load_of(model_of(R"(
subgraph @0 "main" {
  input %x : f32[1048576]
  [%s : f32[1048576]] = Softmax.13[%x] {axis = 0}
  [%y : f32[1048576]] = Softmax.13[%s] {axis = 0}
  output [%y]
}
)"));
  request.depth = 2;
  const terms::ModelHandle model = load(request);
  EXPECT_GE(pages_->num_taken(), 4) << "two slots with a tensor of 4 MiB each";
  ASSERT_TRUE(engine_->unload(model).is_ok());
  EXPECT_EQ(pages_->num_taken(), 0);
}

TEST_F(LoadingClaims, UnloadingAStartedModelOfAnExplicitGroupKeepsTheCores) {
  const terms::ModelHandle model = load_on(group_of(3), "m");
  ASSERT_TRUE(engine_->start(model).is_ok());
  ASSERT_TRUE(engine_->unload(model).is_ok());
  EXPECT_EQ(engine_->num_free_cores(), 1);
}

TEST_F(LoadingClaims, InvalidPackageIsRefusedWithoutUsingResources) {
  const sluice::testing::TempDir folder;
  const std::string text = "no package, but long enough to have a header of sixty-four bytes, see";
  ASSERT_TRUE(write_file_atomically(folder / "m.sluice", std::as_bytes(std::span(text))).is_ok());
  LoadRequest request;
  request.path = folder / "m.sluice";
  const Status status = engine_->load(request).status();
  EXPECT_FALSE(status.is_ok());
  EXPECT_EQ(terms::runtime_code_of(status), RuntimeCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("m.sluice"));
  EXPECT_EQ(engine_->num_free_cores(), 4);
  EXPECT_TRUE(engine_->list_models().empty());
}

TEST_F(LoadingClaims, EveryLoadHasAHandleOfItsOwn) {
  const terms::CoreGroupId group = group_of(1);
  const terms::ModelHandle first = load_on(group, "same");
  const terms::ModelHandle second = load_on(group, "same");
  EXPECT_NE(first, second);
  ASSERT_TRUE(engine_->start(first).is_ok());
  EXPECT_EQ(engine_->info(first)->phase, terms::ModelPhase::kStarted);
  EXPECT_EQ(engine_->info(second)->phase, terms::ModelPhase::kLoaded);
  ASSERT_TRUE(engine_->stop(first).is_ok());
  ASSERT_TRUE(engine_->unload(first).is_ok());
  EXPECT_TRUE(engine_->start(second).is_ok());
}

TEST_F(LoadingClaims, CopiesOnDifferentCoresShareTheRequests) {
  const auto executable = add_relu();
  const terms::ModelHandle left = load(load_of(executable, "left"));
  const terms::ModelHandle right = load(load_of(executable, "right"));
  EXPECT_EQ(engine_->num_free_cores(), 2);
  EXPECT_NE(engine_->info(left)->group, engine_->info(right)->group);
  const Cookie on_left = post(left, 1);
  const Cookie on_right = post(right, 3);
  EXPECT_THAT(floats(engine_->wait(on_left, kNoDeadline).outputs.at(0)), ElementsAre(2, 0, 4, 0));
  EXPECT_THAT(floats(engine_->wait(on_right, kNoDeadline).outputs.at(0)), ElementsAre(4, 1, 6, 0));
}

TEST_F(LoadingClaims, SegmentsOfFourAndOneCoresNeedFiveOrFourShared) {
  const std::vector<SegmentNeed> needs = {{"first", 4, true}, {"second", 1, true}};
  EXPECT_EQ(cores_for_normal(needs), 5);
  EXPECT_EQ(cores_for_shared(needs), 4);
  make(pretended_cpu_map(5));
  LoadRequest request = load_of(add_relu_in({4, 1}));
  request.group = group_of(5);
  EXPECT_EQ(engine_->info(load(request))->mode, terms::LoadMode::kNormal);
  make(pretended_cpu_map(5));
  request.group = group_of(4);
  EXPECT_EQ(engine_->info(load(request))->mode, terms::LoadMode::kShared);
  make(pretended_cpu_map(5));
  request.group = group_of(3);
  EXPECT_EQ(terms::runtime_code_of(engine_->load(request).status()), RuntimeCode::kNotEnoughCores);
}

TEST_F(LoadingClaims, ImplicitLoadNeverShares) {
  group_of(1);  // three of four cores are left; shared mode needs two
  const auto handle = engine_->load(load_of(add_relu_in({2, 2})));
  EXPECT_EQ(terms::runtime_code_of(handle.status()), RuntimeCode::kNotEnoughCores);
  EXPECT_EQ(engine_->num_free_cores(), 3);
}

TEST_F(LoadingClaims, LoadsAndUnloadsLeaveRunningRequestsAlone) {
  const terms::CoreGroupId group = group_of(1);
  const terms::ModelHandle running = load_on(group, "running");
  const terms::ModelHandle stopped = load_on(group, "stopped");
  ASSERT_TRUE(engine_->start(running).is_ok());
  const Cookie cookie = post(running, 1);  // in flight: nobody has waited yet
  load_on(group, "new");
  ASSERT_TRUE(engine_->unload(stopped).is_ok());
  const Reply reply = engine_->wait(cookie, kNoDeadline);
  EXPECT_EQ(reply.code, RuntimeCode::kOk);
  EXPECT_THAT(floats(reply.outputs.at(0)), ElementsAre(2, 0, 4, 0));
}

}  // namespace
}  // namespace sluice::runtime
