#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Longs = std::vector<std::int64_t>;

/// Indices of both signs, within `length` places.
template <typename Index>
std::vector<Index> some_indices(std::int64_t count, std::int64_t length) {
  std::vector<Index> indices;
  for (std::int64_t i = 0; i < count; ++i) {
    indices.push_back(static_cast<Index>(i * 37 % (2 * length) - length));
  }
  return indices;
}

template <typename T, typename Index>
void expect_gathers(std::int64_t axis) {
  const Shape data = {5, 7, 19};
  const Shape indices = {4, 6, 17};
  std::vector<T> values;
  for (int i = 0; i < 5 * 7 * 19; ++i) values.push_back(static_cast<T>(i * 31));
  const std::int64_t length = data[static_cast<std::size_t>(axis < 0 ? axis + 3 : axis)];
  expect_agreement(
      [&](TestOp& op) {
        op.input(data, values).input(indices, some_indices<Index>(4 * 6 * 17, length));
        op.output<T>(indices);
        op.attribute("axis", axis);
      },
      {.kind = "GatherElements", .float_outputs = {}});
}

TEST(CpuGatherElements, AgreesAlongEveryAxisOfEveryType) {
  for (const std::int64_t axis : {0, 1, 2, -1, -2, -3}) {
    expect_gathers<float, std::int64_t>(axis);
    expect_gathers<std::int64_t, std::int32_t>(axis);
    expect_gathers<std::uint16_t, std::int64_t>(axis);
    expect_gathers<std::uint8_t, std::int32_t>(axis);
  }
}

/// Indices are looked at some hundred at a time.
TEST(CpuGatherElements, AgreesOnLongLines) {
  for (const std::int64_t axis : {0, 1}) {
    for (const std::int64_t count : {127, 128, 129, 300}) {
      const Shape data = axis == 0 ? Shape{9, 300} : Shape{2, 77};
      expect_agreement(
          [&](TestOp& op) {
            op.input(data, random_floats(data[0] * data[1], 1));
            op.input({2, count}, some_indices<std::int64_t>(2 * count, data[axis == 0 ? 0 : 1]));
            op.output({2, count}).attribute("axis", axis);
          },
          {.kind = "GatherElements", .float_outputs = {}});
    }
  }
}

TEST(CpuGatherElements, NamesAnIndexFarBehindInALine) {
  for (const Backend& backend : backends_to_test()) {
    for (const std::int64_t bad : {INT64_MIN, std::int64_t{-6}, std::int64_t{5}, INT64_MAX}) {
      TestOp op("GatherElements", "", 13);
      Longs indices(600, -5);
      indices[290] = bad;
      indices[295] = 7;
      op.input({2, 5}, random_floats(10, 1)).input({2, 300}, indices).output({2, 300});
      op.attribute("axis", std::int64_t{1});
      const Status status = op.run(backend, 1);
      ASSERT_FALSE(status.is_ok());
      EXPECT_EQ(status.text, "GatherElements: " + plugin::index_outside(bad, 1, 5).text);
    }
  }
}

TEST(CpuGatherElements, NamesTheFirstIndexThatIsOutside) {
  for (const Backend& backend : backends_to_test()) {
    for (const int workers : {1, 3}) {
      TestOp op("GatherElements", "", 13);
      Longs indices(300, 1);
      indices[120] = 2;
      indices[250] = -3;
      op.input({2, 3}, random_floats(6, 1)).input({100, 3}, indices).output({100, 3});
      const Status status = op.run(backend, workers);
      ASSERT_FALSE(status.is_ok());
      EXPECT_EQ(status.text, "GatherElements: " + plugin::index_outside(2, 0, 2).text);
    }
  }
}

template <typename T, typename Index>
void expect_one_hot(const Shape& indices, const Shape& result, std::int64_t axis) {
  std::int64_t count = 1;
  for (const std::int64_t dim : indices) count *= dim;
  expect_agreement(
      [&](TestOp& op) {
        op.input(indices, some_indices<Index>(count, 12));
        op.input<std::int64_t>({}, {9}, true);
        op.input({2}, std::vector<T>{3, 5});
        op.output<T>(result);
        op.attribute("axis", axis);
      },
      {.kind = "OneHot", .version = 11, .float_outputs = {}});
}

TEST(CpuOneHot, AgreesAlongEveryAxisOfEveryType) {
  expect_one_hot<float, std::int64_t>({4, 5}, {4, 5, 9}, -1);
  expect_one_hot<std::int64_t, std::int32_t>({4, 5}, {9, 4, 5}, 0);
  expect_one_hot<std::uint8_t, std::int64_t>({4, 5}, {4, 9, 5}, 1);
  expect_one_hot<std::uint16_t, std::int64_t>({7}, {7, 9}, 1);
  expect_one_hot<float, std::int32_t>({}, {9}, 0);
}

}  // namespace
}  // namespace sluice::cpu
