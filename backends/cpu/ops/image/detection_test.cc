#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;

TEST(CpuMaxUnpool, PutsElementsWhereTheyWere) {
  Longs places;
  for (std::int64_t i = 0; i < 2 * 3 * 4 * 5; ++i) places.push_back(i * 7 % 480);
  expect_agreement(
      [&](TestOp& op) {
        op.input({2, 3, 4, 5}, random_floats(120, 1)).input({2, 3, 4, 5}, places);
        op.output({2, 3, 8, 10}).attribute("kernel_shape", Shape{2, 2});
        op.attribute("strides", Shape{2, 2});
      },
      {.kind = "MaxUnpool", .version = 11});
}

TEST(CpuMaxUnpool, RefusesPlacesOutside) {
  for (const Backend& backend : backends_to_test()) {
    for (const std::int64_t place : {-1, 8}) {
      TestOp op("MaxUnpool", "", 11);
      op.input({1, 1, 2, 2}, Floats(4)).input({1, 1, 2, 2}, Longs{0, 1, place, 3});
      op.output({1, 1, 2, 4}).attribute("kernel_shape", Shape{1, 2});
      op.attribute("strides", Shape{1, 2});
      EXPECT_FALSE(op.run(backend, 2).is_ok()) << place;
    }
  }
}

struct Suppression {
  std::int64_t limit = 20;
  float overlap = 0.4F;
  bool has_least_score = true;
  std::int64_t is_centre = 0;
};

void expect_suppression(const Suppression& s) {
  constexpr std::int64_t kBoxes = 60;
  Floats boxes = random_floats(2 * kBoxes * 4, 2);
  Floats scores = random_floats(2 * 3 * kBoxes, 3);
  for (float& score : scores) score = std::round(score * 10) / 10;  // many are equal
  scores[5] = NAN;
  scores[70] = INFINITY;
  boxes[40] = NAN;
  for (std::size_t i = 80; i < 84; ++i) boxes[i] = boxes[i - 4];
  expect_agreement(
      [&](TestOp& op) {
        op.input({2, kBoxes, 4}, boxes).input({2, 3, kBoxes}, scores);
        op.input<std::int64_t>({1}, {s.limit}).input({1}, {s.overlap});
        if (s.has_least_score) op.input({1}, {-0.3F});
        op.output<std::int64_t>({2 * 3 * kBoxes, 3}).attribute("center_point_box", s.is_centre);
      },
      {.kind = "NonMaxSuppression", .version = 11, .float_outputs = {}});
}

TEST(CpuNonMaxSuppression, AgreesForEveryLimit) {
  expect_suppression({});
  expect_suppression({.limit = 0});
  expect_suppression({.limit = 1000, .overlap = 0});
  expect_suppression({.limit = 1000, .overlap = -0.5F});  // boxes apart overlap, too
  expect_suppression({.overlap = 1, .has_least_score = false});
  expect_suppression({.has_least_score = false, .is_centre = 1});
}

}  // namespace
}  // namespace sluice::cpu
