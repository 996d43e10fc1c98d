#include "ir/dim.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "ir/broadcast_dim.h"
#include "ir/dim_facts.h"

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
  for (const Dim& dim : {Dim(7), kN, 2 * kN + 2, floor_div(kN - 1, 2) * kS - 3, max(kN, kS + 1),
                         broadcast(2 * kN, kS)}) {
    const auto parsed = parse_dim(dim.to_string());
    ASSERT_TRUE(parsed.is_ok()) << dim.to_string() << ": " << parsed.status().to_string();
    EXPECT_EQ(*parsed, dim) << dim.to_string();
  }
}

TEST(BroadcastDim, IsTheOneThatIsNotOne) {
  EXPECT_EQ(broadcast(kN, 1), kN);
  EXPECT_EQ(broadcast(1, kN), kN);
  EXPECT_EQ(broadcast(kN, kN), kN);
  EXPECT_EQ(broadcast(kN, 5), Dim(5));
  EXPECT_EQ(broadcast(0, kN), Dim(0));
  EXPECT_EQ(broadcast(1, 0), Dim(0));
  EXPECT_TRUE(broadcast(2, 3).is_overflow());
}

TEST(BroadcastDim, ForgetsOrderAndRepetition) {
  const Dim t = Dim::symbol("T");
  const Dim both = broadcast(kN, kS);
  EXPECT_EQ(both, broadcast(kS, kN));
  EXPECT_EQ(broadcast(both, kN), both);
  EXPECT_EQ(broadcast(both, broadcast(kS, kN)), both);
  EXPECT_EQ(broadcast(broadcast(t, kN), kS), broadcast(t, both));
  EXPECT_NE(both, kN);
  EXPECT_NE(2 * both, both);
}

TEST(BroadcastDim, TakesNumbersForItsSymbols) {
  const auto values = [](std::int64_t n, std::int64_t s) {
    return [=](std::string_view name) { return std::optional<Dim>(name == "N" ? n : s); };
  };
  const Dim both = broadcast(kN, kS);
  EXPECT_EQ(both.substitute(values(1, 7)), Dim(7));
  EXPECT_EQ(both.substitute(values(7, 1)), Dim(7));
  EXPECT_EQ(both.substitute(values(0, 1)), Dim(0));
  EXPECT_TRUE(both.substitute(values(2, 3)).is_overflow());
}

TEST(BroadcastDim, TellsWhatCannotStretchTheWhole) {
  const Dim both = broadcast(kN, kS);
  for (const Dim& part : {Dim(1), kN, kS, both}) EXPECT_TRUE(broadcasts_into(part, both));
  EXPECT_TRUE(broadcasts_into(kN, 5));
  EXPECT_TRUE(broadcasts_into(1, kN));
  EXPECT_FALSE(broadcasts_into(kN, kS));
  EXPECT_FALSE(broadcasts_into(both, kN));
  EXPECT_FALSE(broadcasts_into(5, kN));
  EXPECT_FALSE(broadcasts_into(kN, 1));
}

Dim sum_of(int count) {
  Dim sum(0);
  for (int i = 0; i < count; ++i) sum = sum + Dim::symbol("N" + std::to_string(i));
  return sum;
}

Dim product_of(int count) {
  Dim product(1);
  for (int i = 0; i < count; ++i) product = product * Dim::symbol("N" + std::to_string(i));
  return product;
}

/// max(max(max(N0, N1), N2), ...)
Dim nested_max_of(int count) {
  Dim most(1);
  for (int i = 0; i < count; ++i) most = max(most, Dim::symbol("N" + std::to_string(i)));
  return most;
}

TEST(UnnamedDim, IsWhatPassesTheBoundsOfAnExpression) {
  EXPECT_FALSE(is_unnamed(sum_of(64)));
  EXPECT_FALSE(is_unnamed(product_of(64)));
  const Dim long_name = Dim::symbol(std::string(1020, 'L'));
  EXPECT_FALSE(is_unnamed(long_name));
  for (const Dim& dim : {sum_of(65), sum_of(40) - sum_of(40) * 2 + product_of(3) * sum_of(65),
                         product_of(65), sum_of(9) * (sum_of(9) * kN + 1), nested_max_of(200),
                         floor_div(long_name, kS), ceil_div(kN, long_name), min(long_name, kS)}) {
    EXPECT_TRUE(is_unnamed(dim)) << dim.to_string();
    EXPECT_FALSE(dim.is_known());
    EXPECT_FALSE(dim.is_overflow());
  }
}

TEST(UnnamedDim, IsWhatTooManySymbolsBroadcastTo) {
  Dim all(1);
  for (int i = 0; i < 200; ++i) all = broadcast(all, Dim::symbol("N" + std::to_string(i)));
  EXPECT_TRUE(is_unnamed(all));
  EXPECT_TRUE(is_unnamed(broadcast(all, kN)));
  EXPECT_TRUE(is_never_negative(all));
}

TEST(UnnamedDim, EqualsNothingAndStaysInArithmetic) {
  const Dim unnamed = sum_of(65);
  EXPECT_NE(unnamed, unnamed);
  for (const Dim& dim :
       {unnamed + 1, 2 - unnamed, unnamed * kN, unnamed - unnamed, floor_div(unnamed, unnamed),
        ceil_div(7, unnamed), max(unnamed, unnamed), min(kN, unnamed), unnamed * 0}) {
    EXPECT_TRUE(is_unnamed(dim)) << dim.to_string();
  }
  EXPECT_TRUE(floor_div(unnamed, 0).is_overflow());
  EXPECT_TRUE((unnamed + Dim::overflow()).is_overflow());
}

TEST(DimFunction, IsNoName) {
  for (const char* name : {"floordiv", "ceildiv", "max", "min", "broadcast"}) {
    EXPECT_TRUE(is_dim_function(name)) << name;
  }
  EXPECT_FALSE(is_dim_function("N"));
  EXPECT_FALSE(is_dim_function(""));
}

TEST(UnnamedDim, RemembersWhetherItMayBeNegative) {
  EXPECT_TRUE(is_never_negative(sum_of(65)));
  EXPECT_TRUE(is_never_negative(sum_of(65) * 3 + kN));
  EXPECT_TRUE(is_never_negative(product_of(65)));
  EXPECT_TRUE(is_never_negative(nested_max_of(200)));
  for (const Dim& dim : {sum_of(65) - 1, 5 - sum_of(65), sum_of(65) - kN, sum_of(64) - kN,
                         Dim(-1) * product_of(65), max(nested_max_of(200), kN - 1)}) {
    EXPECT_FALSE(is_never_negative(dim)) << dim.to_string();
  }
}

TEST(UnnamedDim, HasForgottenItsTerms) {
  const auto lookup = [](std::string_view) -> std::optional<Dim> { return Dim(2); };
  EXPECT_EQ(sum_of(64).substitute(lookup), Dim(128));
  EXPECT_TRUE(is_unnamed(sum_of(65).substitute(lookup)));
  EXPECT_TRUE(is_unnamed((sum_of(65) * -1).substitute(lookup)));
}

TEST(ParseDim, RefusesExpressionsBeyondTheBounds) {
  std::string text = "N0";
  for (int i = 1; i < 65; ++i) text += "+N" + std::to_string(i);
  EXPECT_FALSE(parse_dim(text).is_ok());
  EXPECT_FALSE(parse_dim("?").is_ok());
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
