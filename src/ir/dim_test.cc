#include "ir/dim.h"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::ir {
namespace {

const Dim kN = Dim::symbol("N");
const Dim kS = Dim::symbol("S");

TEST(Dim, EqualExpressionsCompareEqual) {
  EXPECT_EQ((kN + 1) * 2, 2 * kN + 2);
  EXPECT_EQ(kN * kS - kS * kN, Dim(0));
  EXPECT_NE(kN, kS);
}

TEST(Dim, DivisionThatDividesExactlyDisappears) {
  EXPECT_EQ(floor_div(4 * kN, 2), 2 * kN);
  EXPECT_EQ(floor_div(kN * kS, kN * kS), Dim(1));
}

TEST(Dim, NumbersDivideTowardsMinusInfinity) {
  EXPECT_EQ(floor_div(Dim(-3), 2), Dim(-2));
  EXPECT_EQ(ceil_div(Dim(-3), 2), Dim(-1));
  EXPECT_EQ(ceil_div(Dim(3), 2), Dim(2));
}

TEST(Dim, OverflowSticks) {
  const Dim big(std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE((big * 2).is_overflow());
  EXPECT_TRUE((big * 2 + kN).is_overflow());
  EXPECT_TRUE(floor_div(kN, 0).is_overflow());
}

TEST(Dim, SubstitutesSymbolsInsideFunctions) {
  const Dim conv_out = floor_div(kN + 2 - 3, 2) + 1;
  const auto lookup = [](std::string_view name) -> std::optional<Dim> {
    if (name == "N") return Dim(224);
    return std::nullopt;
  };
  EXPECT_EQ(conv_out.substitute(lookup), Dim(112));
  EXPECT_EQ((kN * kS).substitute(lookup), 224 * kS);
}

TEST(Dim, PrintsAndParsesBack) {
  for (const Dim& dim : {Dim(7), kN, 2 * kN + 2, floor_div(kN - 1, 2) * kS - 3, max(kN, kS + 1)}) {
    const auto parsed = parse_dim(dim.to_string());
    ASSERT_TRUE(parsed.is_ok()) << dim.to_string() << ": " << parsed.status().to_string();
    EXPECT_EQ(*parsed, dim) << dim.to_string();
  }
}

TEST(ParseDim, RefusesNonsense) {
  for (const char* text : {"", "+", "N+", "floordiv(N", "N M", "99999999999999999999", "4$"}) {
    EXPECT_FALSE(parse_dim(text).is_ok()) << text;
  }
}

TEST(ParseDim, RefusesDeepNesting) {
  EXPECT_FALSE(parse_dim(std::string(1000, '-') + "N").is_ok());
}

}  // namespace
}  // namespace sluice::ir
