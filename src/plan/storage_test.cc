#include "plan/storage.h"

#include <gtest/gtest.h>

namespace sluice::plan {
namespace {

const Value kInput = {64, Source::kExternal};
const Value kOutput = {64, Source::kOutput};
const Value kTemporary = {64, Source::kArena};

TEST(AssignStorage, ChainInPlaceNeedsOnePiece) {
  // in -> a -> b -> c -> out
  const std::vector<Value> values = {kInput, kTemporary, kTemporary, kTemporary, kOutput};
  const std::vector<Step> steps = {{{0}, {1}, 1}, {{1}, {2}, 1}, {{2}, {3}, 1}, {{3}, {4}, 1}};
  const auto result = assign_storage(values, steps);
  ASSERT_EQ(result.lifetimes.size(), 1U);
  EXPECT_EQ(result.lifetimes[0].first_step, 0);
  EXPECT_EQ(result.lifetimes[0].last_step, 3);
}

TEST(AssignStorage, NeverOverwritesOperandsWithLaterReaders) {
  // a is read again by step 2
  const std::vector<Value> values = {kInput, kTemporary, kTemporary, kOutput};
  const std::vector<Step> steps = {{{0}, {1}, 1}, {{1}, {2}, 1}, {{1, 2}, {3}, 3}};
  EXPECT_EQ(assign_storage(values, steps).lifetimes.size(), 2U);
}

TEST(AssignStorage, NeverOverwritesAnOperandThatTheStepReadsTwice) {
  const std::vector<Value> values = {kInput, kTemporary, kTemporary, kOutput};
  const std::vector<Step> steps = {{{0}, {1}}, {{1, 1}, {2}, 1}, {{2}, {3}}};
  EXPECT_EQ(assign_storage(values, steps).lifetimes.size(), 2U);
}

TEST(AssignStorage, NeverWritesToInputs) {
  const std::vector<Value> values = {kInput, kTemporary, kOutput};
  const std::vector<Step> steps = {{{0}, {1}, 1}, {{1}, {2}, 1}};
  const auto result = assign_storage(values, steps);
  EXPECT_EQ(result.root_of[1], 1);
}

TEST(AssignStorage, ViewsShareAndKeepAlive) {
  // a viewed as b; b read at step 3
  const std::vector<Value> values = {kInput, kTemporary, kTemporary, kTemporary, kOutput};
  const std::vector<Step> steps = {{{0}, {1}}, {{1}, {2}, 0, true}, {{0}, {3}}, {{2, 3}, {4}}};
  const auto result = assign_storage(values, steps);
  EXPECT_EQ(result.root_of[2], 1);
  EXPECT_EQ(result.storage_of[1], result.storage_of[2]);
  ASSERT_EQ(result.lifetimes.size(), 2U);
  EXPECT_EQ(result.lifetimes[0].last_step, 3);
}

TEST(AssignStorage, UnequalSizesDoNotShare) {
  const std::vector<Value> values = {kInput, kTemporary, {32, Source::kArena}, kOutput};
  const std::vector<Step> steps = {{{0}, {1}}, {{1}, {2}, 1}, {{2}, {3}}};
  EXPECT_EQ(assign_storage(values, steps).lifetimes.size(), 2U);
}

}  // namespace
}  // namespace sluice::plan
