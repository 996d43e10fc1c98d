#include "open_inference/classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sluice::open_inference {
namespace {

using ir::ElementType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
terms::TensorView view_of(std::vector<T>& values, ElementType type,
                          std::vector<std::int64_t> dims) {
  return {values.data(), static_cast<std::int64_t>(values.size() * sizeof(T)), type,
          std::move(dims)};
}

TEST(Classification, LargestValuesComeFirstWithTheirIndex) {
  std::vector<float> values = {0.5F, -1, 2, 0.25F, 3, 3};
  const auto classes = classify(view_of(values, ElementType::kF32, {2, 3}), true, 2);
  ASSERT_TRUE(classes.is_ok());
  EXPECT_THAT(classes->shape, ElementsAre(2, 2));
  EXPECT_THAT(classes->texts, ElementsAre("2.000000:2", "0.500000:0", "3.000000:1", "3.000000:2"));
}

TEST(Classification, IndexCountsTheWholeRow) {
  std::vector<float> values = {1, 2, 3, 4, 8, 7, 6, 5};
  const auto rows = classify(view_of(values, ElementType::kF32, {2, 2, 2}), true, 2);
  EXPECT_THAT(rows->shape, ElementsAre(2, 2));
  EXPECT_THAT(rows->texts, ElementsAre("4.000000:3", "3.000000:2", "8.000000:0", "7.000000:1"));
  const auto one = classify(view_of(values, ElementType::kF32, {2, 2, 2}), false, 2);
  EXPECT_THAT(one->shape, ElementsAre(2));
  EXPECT_THAT(one->texts, ElementsAre("8.000000:4", "7.000000:5"));
  const auto each = classify(view_of(values, ElementType::kF32, {8}), true, 2);
  EXPECT_THAT(each->shape, ElementsAre(8, 1));
  std::vector<float> scalar = {5};
  EXPECT_THAT(classify(view_of(scalar, ElementType::kF32, {}), true, 2)->texts,
              ElementsAre("5.000000:0"));
}

TEST(Classification, LabelsFollowTheIndex) {
  std::vector<float> values = {1, 3, 2};
  const std::vector<std::string> labels = {"cat", "sea: cucumber"};
  const auto classes = classify(view_of(values, ElementType::kF32, {3}), false, 3, labels);
  EXPECT_THAT(classes->texts,
              ElementsAre("3.000000:1:sea: cucumber", "2.000000:2", "1.000000:0:cat"));
}

TEST(Classification, GivesAtMostTheWholeRow) {
  std::vector<std::int64_t> values = {7, std::numeric_limits<std::int64_t>::min()};
  const auto classes = classify(view_of(values, ElementType::kI64, {2}), false, 100);
  EXPECT_THAT(classes->shape, ElementsAre(2));
  EXPECT_THAT(classes->texts, ElementsAre("7:0", "-9223372036854775808:1"));
}

TEST(Classification, NanIsLeast) {
  const double nan = std::nan("");
  std::vector<double> values = {nan, -std::numeric_limits<double>::infinity(), nan, 1};
  const auto classes = classify(view_of(values, ElementType::kF64, {4}), false, 4);
  EXPECT_THAT(classes->texts, ElementsAre("1.000000:3", "-inf:1", "nan:0", "nan:2"));
}

TEST(Classification, EveryIntegerTypeIsCompared) {
  std::vector<std::uint8_t> bytes = {200, 100, 255};
  EXPECT_THAT(classify(view_of(bytes, ElementType::kU8, {3}), false, 1)->texts,
              ElementsAre("255:2"));
  EXPECT_THAT(classify(view_of(bytes, ElementType::kI8, {3}), false, 1)->texts,
              ElementsAre("100:1"));
  std::vector<std::uint64_t> large = {std::numeric_limits<std::uint64_t>::max(), 1};
  EXPECT_THAT(classify(view_of(large, ElementType::kU64, {2}), false, 1)->texts,
              ElementsAre("18446744073709551615:0"));
}

TEST(Classification, EmptyOutputsHaveNoClasses) {
  std::vector<float> none;
  EXPECT_TRUE(classify(view_of(none, ElementType::kF32, {0}), false, 3)->texts.empty());
  EXPECT_TRUE(classify(view_of(none, ElementType::kF32, {0, 5}), true, 3)->texts.empty());
}

TEST(Classification, RefusesWhatHasNoOrder) {
  std::vector<float> one = {1};
  for (const ElementType type : {ElementType::kF16, ElementType::kBool, ElementType::kString}) {
    EXPECT_THAT(classify(view_of(one, type, {1}), false, 1).status().message(),
                HasSubstr("ask for the tensor"));
  }
  std::vector<std::uint8_t> many(100'000);
  EXPECT_THAT(classify(view_of(many, ElementType::kU8, {50'000, 2}), true, 2).status().message(),
              HasSubstr("at most 65536"));
}

}  // namespace
}  // namespace sluice::open_inference
