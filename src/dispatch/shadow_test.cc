#include "dispatch/shadow.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "dispatch/flight_table.h"
#include "dispatch/testing/keeping_sink.h"

namespace sluice::dispatch {
namespace {

using runtime::Reply;
using runtime::Request;
using testing::KeepingSink;

class ShadowTest : public ::testing::Test {
 protected:
  ShadowTest() { model_->set_shadow(shadow_); }

  Status post(std::shared_ptr<const void> memory, bool has_output_memory = false) {
    Request request;
    request.inputs = {terms::TensorView{}};
    if (has_output_memory) request.outputs.emplace_back();
    request.memory_owner = std::move(memory);
    request.on_done = [this](const Reply& /*reply*/) { ++num_answers_; };
    return table_.post(table_.enter(model_, false), request, {});
  }
  static std::shared_ptr<ModelRef> model_of(const std::shared_ptr<KeepingSink>& sink,
                                            bool reads_in_place = true) {
    return std::make_shared<ModelRef>(sink, std::vector<bool>{reads_in_place}, false);
  }

  const std::shared_ptr<KeepingSink> sink_ = std::make_shared<KeepingSink>();
  const std::shared_ptr<KeepingSink> shadow_sink_ = std::make_shared<KeepingSink>();
  const std::shared_ptr<ModelRef> model_ = model_of(sink_);
  std::shared_ptr<ModelRef> shadow_ = model_of(shadow_sink_);
  FlightTable table_;
  int num_answers_ = 0;
};

TEST_F(ShadowTest, CopyReadsTheSameMemoryAndAnswersNobody) {
  auto memory = std::make_shared<int>(7);
  const std::weak_ptr<int> watched = memory;
  ASSERT_TRUE(post(std::move(memory)).is_ok());
  ASSERT_EQ(shadow_sink_->requests.size(), 1U);
  EXPECT_EQ(shadow_sink_->requests[0].inputs.size(), 1U);
  EXPECT_LT(shadow_sink_->requests[0].priority, 0);
  sink_->answer(0);
  sink_->requests.clear();
  EXPECT_EQ(num_answers_, 1);
  EXPECT_FALSE(watched.expired()) << "the copy still reads it";
  shadow_sink_->answer(0);
  shadow_sink_->requests.clear();
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(num_answers_, 1);
}

TEST_F(ShadowTest, RequestsWithoutKeptMemoryAreNotCopied) {
  ASSERT_TRUE(post(nullptr).is_ok());
  ASSERT_TRUE(post(std::make_shared<int>(7), /*has_output_memory=*/true).is_ok());
  EXPECT_TRUE(shadow_sink_->requests.empty());
  sink_->answer(0);
  sink_->answer(1);
}

TEST_F(ShadowTest, CopiesAreBoundedByTheSlots) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(post(std::make_shared<int>(7)).is_ok());
  EXPECT_EQ(shadow_sink_->requests.size(), 2U);
  shadow_sink_->answer(0);
  ASSERT_TRUE(post(std::make_shared<int>(7)).is_ok());
  EXPECT_EQ(shadow_sink_->requests.size(), 3U);
  for (std::size_t i = 0; i < 6; ++i) sink_->answer(i);
  for (std::size_t i = 1; i < 3; ++i) shadow_sink_->answer(i);
}

TEST_F(ShadowTest, RefusalsOnEitherSideLeaveTheOtherAlone) {
  shadow_sink_->refusal = terms::runtime_error(RuntimeCode::kQueueFull, "full");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(post(std::make_shared<int>(7)).is_ok());
  shadow_sink_->refusal.reset();
  sink_->refusal = terms::runtime_error(RuntimeCode::kQueueFull, "full");
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(post(std::make_shared<int>(7)).is_ok());
  EXPECT_TRUE(shadow_sink_->requests.empty());
  sink_->refusal.reset();
  ASSERT_TRUE(post(std::make_shared<int>(7)).is_ok());
  EXPECT_EQ(shadow_sink_->requests.size(), 1U) << "the places of all others were given back";
  shadow_sink_->answer(0);
  for (std::size_t i = 0; i < 6; ++i) sink_->answer(i);
}

TEST_F(ShadowTest, LackOfMemoryCostsTheCopyAlone) {
  shadow_sink_->has_no_memory = true;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(post(std::make_shared<int>(7)).is_ok());
  EXPECT_EQ(sink_->requests.size(), 5U);
  shadow_sink_->has_no_memory = false;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(post(std::make_shared<int>(7)).is_ok());
  EXPECT_EQ(shadow_sink_->requests.size(), 2U) << "the places of all others were given back";
  for (std::size_t i = 0; i < 7; ++i) sink_->answer(i);
  EXPECT_EQ(num_answers_, 7);
  for (std::size_t i = 0; i < 2; ++i) shadow_sink_->answer(i);
}

TEST_F(ShadowTest, ShadowMayGoAtAnyTime) {
  shadow_ = nullptr;
  ASSERT_TRUE(post(std::make_shared<int>(7)).is_ok());
  EXPECT_TRUE(shadow_sink_->requests.empty());
  model_->set_shadow(nullptr);
  EXPECT_EQ(model_->shadow(), nullptr);
  sink_->answer(0);
}

TEST_F(ShadowTest, OnlyAModelThatTakesTheSameIsFit) {
  EXPECT_TRUE(model_->takes_the_same(*shadow_));
  EXPECT_FALSE(model_->takes_the_same(*model_of(shadow_sink_, /*reads_in_place=*/false)));
  const auto other = std::make_shared<KeepingSink>();
  other->signature_.inputs.push_back({"x", ir::Type()});
  EXPECT_FALSE(model_->takes_the_same(*model_of(other)));
}

}  // namespace
}  // namespace sluice::dispatch
