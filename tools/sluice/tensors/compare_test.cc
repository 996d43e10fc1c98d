#include "sluice/tensors/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sluice::tool {
namespace {

using ::testing::HasSubstr;

std::string compare(std::vector<float> got, const std::vector<float>& expected,
                    const Tolerances& tolerances = default_tolerances()) {
  const auto count = static_cast<std::int64_t>(got.size());
  const auto wanted = static_cast<std::int64_t>(expected.size());
  return find_difference({got.data(), count * 4, ir::ElementType::kF32, {count}},
                         ir::make_f32_constant(expected, {wanted}), tolerances);
}

TEST(FindDifference, AcceptsDifferencesWithinTolerance) {
  EXPECT_EQ(compare({1.0F, 100.05F}, {1.0F, 100.0F}), "");
}

TEST(FindDifference, NamesTheFirstElementThatDiffers) {
  EXPECT_EQ(compare({1, 2, 3}, {1, 2.5F, 3.5F}),
            "2 of 3 elements differ; element 1 is 2, should be 2.5");
}

TEST(FindDifference, NotANumberEqualsOnlyItself) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(compare({nan}, {nan}), "");
  EXPECT_NE(compare({nan}, {1}), "");
  EXPECT_NE(compare({1}, {nan}), "");
}

TEST(FindDifference, InfinitiesMustBeEqual) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(compare({-infinity}, {-infinity}), "");
  EXPECT_NE(compare({1e38F}, {infinity}), "");
}

TEST(FindDifference, NamesAnotherShape) {
  EXPECT_THAT(compare({1, 2}, {1}), HasSubstr("got f32[2], should be f32[1]"));
}

TEST(FindDifference, IntegersAreExact) {
  std::vector<std::int64_t> got = {1000001};
  const auto expected = ir::make_i64_constant({1000000}, {1});
  EXPECT_EQ(find_difference({got.data(), 8, ir::ElementType::kI64, {1}}, expected, {}),
            "elements differ");
}

TEST(ParseTolerances, ChangesNamedTypesOnly) {
  const auto tolerances = parse_tolerances({"f32=0.5,0.25"});
  ASSERT_TRUE(tolerances.is_ok());
  EXPECT_EQ(compare({3.25F}, {2.0F}, *tolerances), "");
  EXPECT_NE(compare({3.3F}, {2.0F}, *tolerances), "");
  EXPECT_EQ(tolerances->at(ir::ElementType::kF64).relative,
            default_tolerances()[ir::ElementType::kF64].relative);
}

TEST(ParseTolerances, RefusesMalformedPairsAndNonFloatTypes) {
  for (const char* text : {"f32", "f32=", "f32=1", "f32=1,", "f32=,1", "f32=1,x", "f32=-1,1",
                           "i32=1,1", "nothing=1,1", "=1,1", ""}) {
    EXPECT_FALSE(parse_tolerances({text}).is_ok()) << text;
  }
}

}  // namespace
}  // namespace sluice::tool
