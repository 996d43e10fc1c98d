#include "open_inference/request.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "dispatch/testing/keeping_sink.h"

namespace sluice::open_inference {
namespace {

std::int32_t priority_at(std::uint64_t level, const terms::DeclaredModel& declared) {
  const dispatch::ModelRef model(std::make_shared<dispatch::testing::KeepingSink>(),
                                 std::vector<bool>(), false, 1, "m",
                                 std::make_shared<const terms::DeclaredModel>(declared));
  Owners owners;
  InferRequest request;
  request.priority = level;
  return to_runtime(request, model, kNoDeadline, owners)->priority;
}

TEST(InferRequest, PrioritiesThatTheModelLacksAreItsDefault) {
  terms::DeclaredModel declared;
  EXPECT_EQ(priority_at(0, declared), priority_of(0));
  EXPECT_EQ(priority_at(9, declared), priority_of(9));
  declared.num_priorities = 3;
  declared.default_priority = 2;
  EXPECT_EQ(priority_at(0, declared), priority_of(2));
  EXPECT_EQ(priority_at(1, declared), priority_of(1));
  EXPECT_EQ(priority_at(3, declared), priority_of(3));
  EXPECT_EQ(priority_at(4, declared), priority_of(2));
  EXPECT_GT(priority_at(1, declared), priority_at(0, declared));
}

}  // namespace
}  // namespace sluice::open_inference
