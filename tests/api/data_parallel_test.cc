// Batches that are divided over replicas, here and over a daemon; models are traced by the test.
#include "sluice/parallel/data_parallel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sluice/statistics.hpp"
#include "sluice/trace/trace.hpp"
#include "two_places.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;
using trace::Tensor;

class DataParallelIn : public TwoPlaces {
 protected:
  /// Two copies of what a function of x computes, on a core each where there are two.
  template <typename Function>
  std::vector<LoadedModel> copies(Function function, const char* type) {
    auto package = trace::compile(function, {{"x", type}});
    EXPECT_TRUE(package) << package.error().message;
    const std::string path = (folder_ / "traced.sluice").string();
    EXPECT_FALSE(package->save(path));
    std::vector<LoadedModel> models;
    for (const char* name : {"left", "right"}) {
      models.push_back(load({.path = path, .name = name}));
    }
    return models;
  }

  std::int64_t accepted(const LoadedModel& model) {
    return static_cast<std::int64_t>(statistics_of(runtime_, model)->accepted);
  }
};
INSTANTIATE_TEST_SUITE_P(Places, DataParallelIn, ::testing::Values(Place::kLocal, Place::kGrpc));

std::vector<float> counted(std::int64_t size) {
  std::vector<float> values(static_cast<std::size_t>(size));
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

/// Each chunk of 3 rows is divided by its least element, which padding with zeros would change.
TEST_P(DataParallelIn, ChunksOfAFixedSizeTakeTurnsAndTheLastOneRepeatsItsLastRow) {
  const auto models = copies([](Tensor x) { return x / x.min(); }, "f32[3,2]");
  const auto parallel = DataParallel::create({&models[0], &models[1]});
  ASSERT_TRUE(parallel) << parallel.error().message;
  for (const std::int64_t rows : {1, 3, 4, 10, 100}) {
    const auto x = counted(rows * 2);
    const auto left = accepted(models[0]);
    const auto right = accepted(models[1]);
    const auto outputs = parallel->run({tensor<float>("x", x, {rows, 2})});
    ASSERT_TRUE(outputs) << outputs.error().message;
    ASSERT_EQ(outputs->size(), 1U);
    EXPECT_EQ(outputs->front().dims, (std::vector<std::int64_t>{rows, 2}));
    const auto y = outputs->front().values<float>();
    ASSERT_EQ(y.size(), x.size());
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_FLOAT_EQ(y[i], x[i] / x[i / 6 * 6]) << i;
    const std::int64_t chunks = (rows + 2) / 3;
    EXPECT_EQ(accepted(models[0]) - left, (chunks + 1) / 2);
    EXPECT_EQ(accepted(models[1]) - right, chunks / 2);
  }
}

TEST_P(DataParallelIn, ModelOfAnyNumberOfRowsGetsAShareForEachReplica) {
  const auto models = copies([](Tensor x) { return x + 1; }, "f32[N,2]");
  const auto parallel = DataParallel::create({&models[0], &models[1]});
  ASSERT_TRUE(parallel) << parallel.error().message;
  const auto x = counted(14);
  const auto outputs = parallel->run({tensor<float>("x", x, {7, 2})});
  ASSERT_TRUE(outputs) << outputs.error().message;
  std::vector<float> expected = x;
  for (float& value : expected) value += 1;
  EXPECT_TRUE(std::ranges::equal(outputs->front().values<float>(), expected));
  EXPECT_EQ(accepted(models[0]), 1);
  EXPECT_EQ(accepted(models[1]), 1);
}

TEST_P(DataParallelIn, WhatCannotBeDividedIsRefused) {
  EXPECT_EQ(DataParallel::create({}).error().code, Code::kInvalidArgument);
  {
    const auto sums = copies([](Tensor x) { return x.sum(); }, "f32[3,2]");
    const auto none = DataParallel::create({&sums[0], &sums[1]});
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("no rows of numbers to divide"));
  }
  const auto models = copies([](Tensor x) { return x + 1; }, "f32[3,2]");
  const auto parallel = DataParallel::create({&models[0], &models[1]});
  const auto x = counted(8);
  EXPECT_THAT(parallel->run({}).error().message, HasSubstr("no input"));
  EXPECT_THAT(parallel->run({tensor<float>("x", x, {0, 2})}).error().message,
              HasSubstr("has 0 rows"));
  EXPECT_EQ(parallel->run({tensor<float>("x", x, {2, 4})}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(parallel->run({tensor<float>("z", x, {4, 2})}).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace sluice::testing
