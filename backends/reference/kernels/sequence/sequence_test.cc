// Products, normalizations, attention, recurrent networks, losses, quantization: cases by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "reference/testing/test_tensors.h"

namespace sluice::reference {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;

TestTensor floats(Longs dims, const Floats& values) { return {std::move(dims), values}; }

TEST(MatMulKernel, BroadcastsStacks) {
  TestTensor y = floats({2, 1, 1}, {0, 0});
  const TestTensor a = floats({2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(TestOp("MatMul").run({a, floats({2, 1}, {10, 100})}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{210, 430}));
  EXPECT_NE(TestOp("MatMul").run({a, floats({3, 1}, {1, 1, 1})}, y), "");
}

TEST(MatMulKernel, EmptySumIsZero) {
  TestTensor y = floats({1, 1}, {9});
  EXPECT_EQ(TestOp("MatMul").run({floats({1, 0}, {}), floats({0, 1}, {})}, y), "");
  EXPECT_EQ(y.values<float>(), Floats{0});
}

TEST(MatMulKernel, SignedIntegersWrapAround) {
  using Ints = std::vector<std::int32_t>;
  TestTensor y({1, 1}, Ints{0});
  EXPECT_EQ(TestOp("MatMul").run({{{1, 1}, Ints{1 << 30}}, {{1, 1}, Ints{4}}}, y), "");
  EXPECT_EQ(y.values<std::int32_t>(), Ints{0});
}

TEST(EinsumKernel, RefusesALetterOfTwoSizes) {
  TestTensor y = floats({}, {0});
  const TestTensor a = floats({2}, {1, 2});
  EXPECT_EQ(TestOp("Einsum").with("equation", "i,i->").run({a, floats({2}, {3, 4})}, y), "");
  EXPECT_EQ(y.values<float>(), Floats{11});
  EXPECT_NE(TestOp("Einsum").with("equation", "i,i->").run({a, floats({3}, {3, 4, 5})}, y), "");
}

TEST(SoftmaxKernel, OldFormsTakeAllAxesFromTheFirstAsOne) {
  TestTensor y = floats({1, 2, 2}, Floats(4));
  const TestTensor x = floats({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(TestOp("Softmax", "", 13).with("axis", 1).run({x}, y), "");
  EXPECT_EQ(y.values<float>(), Floats(4, 0.5F));
  EXPECT_EQ(TestOp("Softmax", "", 11).with("axis", 1).run({x}, y), "");
  EXPECT_EQ(y.values<float>(), Floats(4, 0.25F));
}

TEST(FusedAttentionKernel, AppendsThePastAndRepeatsKeyHeads) {
  TestTensor y = floats({1, 2, 1, 1}, {0, 0});
  const TestTensor q = floats({1, 2, 1, 1}, {0, 0});
  const TestTensor k = floats({1, 1, 1, 1}, {1});
  const TestTensor v = floats({1, 1, 1, 1}, {8});
  const TestTensor past_v = floats({1, 1, 1, 1}, {2});
  const TestOp attention("Attention", "sluice");
  EXPECT_EQ(attention.run({q, k, v, TestTensor::absent(), k, past_v}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{5, 5}));  // equal scores: the mean of 2 and 8
  EXPECT_NE(attention.run({q, k, v, TestTensor::absent(), k}, y), "");
  EXPECT_NE(attention.run({q, k, v, floats({3}, {0, 0, 0})}, y), "");
}

/// Two heads of one element each, two places. Scores are equal, so every query gets the mean.
TEST(FusedAttentionKernel, PackedHeadsLieSideBySide) {
  TestTensor y = floats({1, 2, 2}, Floats(4));
  const TestTensor zeros = floats({1, 2, 2}, Floats(4, 0));
  const TestTensor v = floats({1, 2, 2}, {1, 10, 3, 30});
  TestOp attention("Attention", "sluice");
  attention.with("q_num_heads", std::int64_t{2}).with("kv_num_heads", std::int64_t{2});
  TestTensor apart = floats({1, 2, 2, 1}, Floats(4));
  EXPECT_EQ(attention.run({zeros, zeros, v}, apart), "");
  EXPECT_EQ(apart.values<float>(), (Floats{2, 2, 20, 20}));
  attention.with("packed_result", std::int64_t{1});
  EXPECT_EQ(attention.run({zeros, zeros, v}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{2, 20, 2, 20}));
  TestOp uneven("Attention", "sluice");
  uneven.with("q_num_heads", std::int64_t{2}).with("kv_num_heads", std::int64_t{3});
  EXPECT_NE(uneven.run({zeros, zeros, v}, y), "");
}

TEST(FusedAttentionKernel, FullyMaskedQueryGivesZero) {
  TestTensor y = floats({1, 1, 1, 1}, {9});
  const TestTensor one = floats({1, 1, 1, 1}, {1});
  const TestTensor mask = floats({1}, {-INFINITY});
  EXPECT_EQ(TestOp("Attention", "sluice").run({one, one, one, mask}, y), "");
  EXPECT_EQ(y.values<float>(), Floats{0});
}

/// Two keys of values 2 and 8; the second score is a number.
TEST(FusedAttentionKernel, HiddenScoresAreTheNumber) {
  TestTensor y = floats({1, 1, 1, 1}, {9});
  const TestTensor one = floats({1, 1, 1, 1}, {1});
  const TestTensor k = floats({1, 1, 2, 1}, {0, 100});
  const TestTensor v = floats({1, 1, 2, 1}, {2, 8});
  const TestTensor none = TestTensor::absent();
  const TestTensor keep = {{2}, std::vector<Bool>{Bool(true), Bool(false)}};
  EXPECT_EQ(TestOp("Attention", "sluice").run({one, k, v, none, none, none, keep}, y), "");
  EXPECT_EQ(y.values<float>(), Floats{5});
}

/// One head of size 1, pages of two places. Keys are 0, so a row gets the mean of what it sees.
TEST(PagedAttentionKernel, RowsSeePlacesOfTheirSequencesUpToTheirOwn) {
  TestTensor y = floats({4, 1}, Floats(4));
  const TestTensor keys = floats({3, 1, 2, 1}, Floats(6, 0));
  const TestTensor values = floats({3, 1, 2, 1}, {1, 3, 5, NAN, 11, 13});
  const TestTensor q = floats({4, 1}, Floats(4, 1));
  const TestTensor tables = {{2, 2}, Longs{0, 1, 2, 99}};  // 99: of places that nobody asks for
  const auto run = [&](const Longs& positions, const Longs& sequences, std::int64_t window) {
    TestOp attention("PagedAttention", "sluice");
    attention.with("window", window);
    return attention.run({q, keys, values, {{4}, positions}, {{4}, sequences}, tables}, y);
  };
  EXPECT_EQ(run({0, 2, 1, 0}, {0, 0, 1, 1}, 0), "");
  EXPECT_EQ(y.values<float>(), (Floats{1, 3, 12, 11}));
  EXPECT_EQ(run({0, 2, 1, 0}, {0, 0, 1, 1}, 2), "");
  EXPECT_EQ(y.values<float>(), (Floats{1, 4, 12, 11}));
  EXPECT_EQ(run({0, 0, 0, -1}, {0, 0, 1, 1}, 0), "index 0 is outside axis 1, which has 2");
  EXPECT_EQ(run({0, 0, 0, 4}, {0, 0, 1, 1}, 0), "index 2 is outside axis 1, which has 2");
  EXPECT_EQ(run({0, 0, 0, 0}, {0, 0, 1, 2}, 0), "index 2 is outside axis 0, which has 2");
  EXPECT_EQ(run({0, 0, 0, 2}, {0, 0, 1, 1}, 0), "index 99 is outside axis 0, which has 3");
}

/// Rows of `size` numbers of 8 bits with their scales, as RoundRows gives them.
TestTensor rounded(const std::vector<std::int64_t>& dims, const Floats& values) {
  std::vector<std::int64_t> wider = dims;
  wider.back() += 4;
  std::int64_t bytes = 1;
  for (const std::int64_t dim : wider) bytes *= dim;
  TestTensor y = {wider, std::vector<std::int8_t>(static_cast<std::size_t>(bytes))};
  EXPECT_EQ(TestOp("RoundRows", "sluice").run({floats(dims, values)}, y), "");
  return y;
}

float scale_at(const std::vector<std::int8_t>& bytes, std::size_t at) {
  float scale = 0;
  std::memcpy(&scale, &bytes[at], sizeof scale);
  return scale;
}

TEST(RoundRowsKernel, RoundsEachRowInUnitsOfItsLargestNumber) {
  const auto bytes = rounded({2, 3}, {-254, 127, 3, 1, 0.25F, -0.003F}).values<std::int8_t>();
  EXPECT_EQ(std::vector(bytes.begin(), bytes.begin() + 3), (std::vector<std::int8_t>{-127, 64, 2}))
      << "ties to even";
  EXPECT_EQ(scale_at(bytes, 3), 2);
  EXPECT_EQ(std::vector(bytes.begin() + 7, bytes.begin() + 10),
            (std::vector<std::int8_t>{127, 32, 0}));
  EXPECT_EQ(scale_at(bytes, 10), 1.0F / 127);
}

TEST(RoundRowsKernel, MakesRowsWithoutANumberOfTheRangeZeros) {
  const auto bytes = rounded({4, 2}, {0, 0, 1e-40F, 0, 1, INFINITY, NAN, 1}).values<std::int8_t>();
  for (const std::size_t row : {0U, 1U, 2U, 3U}) {
    EXPECT_EQ(bytes[row * 6] | bytes[row * 6 + 1], 0) << row;
    const float scale = scale_at(bytes, row * 6 + 2);
    EXPECT_TRUE(row < 2 ? scale == 0 : std::isnan(scale)) << row;
  }
}

TEST(PagedAttentionKernel, ReadsRowsOf8BitsByTheirScales) {
  TestTensor y = floats({2, 1}, Floats(2));
  const TestTensor keys = rounded({2, 1, 2, 1}, Floats(4, 0));
  const TestTensor values = rounded({2, 1, 2, 1}, {1, 3, NAN, 11});
  const TestTensor tables = {{1, 2}, Longs{0, 1}};
  const auto run = [&](const Longs& positions) {
    return TestOp("PagedAttention", "sluice")
        .run({floats({2, 1}, {1, 1}), keys, values, {{2}, positions}, {{2}, Longs{0, 0}}, tables},
             y);
  };
  EXPECT_EQ(run({0, 1}), "");
  EXPECT_FLOAT_EQ(y.values<float>()[0], 1);
  EXPECT_FLOAT_EQ(y.values<float>()[1], 2);
  EXPECT_EQ(run({0, 2}), "");
  EXPECT_TRUE(std::isnan(y.values<float>()[1])) << "not a wrong number";
}

TEST(FusedAttentionKernel, ZeroRowsNamesTheQueriesThatGetZeros) {
  const TestTensor one = floats({1, 1, 1, 1}, {1});
  const auto run = [&](float masked, int zero_rows) {
    TestTensor y = floats({1, 1, 1, 1}, {9});
    TestOp attention("Attention", "sluice");
    attention.with("zero_rows", zero_rows);
    EXPECT_EQ(attention.run({one, one, one, floats({1}, {masked})}, y), "");
    return y.values<float>()[0];
  };
  EXPECT_TRUE(std::isnan(run(-INFINITY, 0)));
  EXPECT_EQ(run(-INFINITY, 1), 0);
  EXPECT_EQ(run(-INFINITY, 2), 0);
  EXPECT_TRUE(std::isnan(run(NAN, 1)));
  EXPECT_EQ(run(NAN, 2), 0);
}

TEST(RotaryEmbeddingKernel, RefusesPositionsOutsideTheCache) {
  TestTensor y = floats({1, 1, 1, 2}, {0, 0});
  const TestTensor x = floats({1, 1, 1, 2}, {1, 2});
  const TestTensor cosines = floats({1, 1}, {0});
  const TestTensor sines = floats({1, 1}, {1});
  const TestOp rotary("RotaryEmbedding");
  EXPECT_EQ(rotary.run({x, cosines, sines, {{1, 1}, Longs{0}}}, y), "");
  EXPECT_EQ(y.values<float>(), (Floats{-2, 1}));
  EXPECT_NE(rotary.run({x, cosines, sines, {{1, 1}, Longs{1}}}, y), "");
  EXPECT_NE(rotary.run({x, cosines, sines, {{1, 1}, Longs{-1}}}, y), "");
}

TEST(LstmKernel, RefusesLengthsPastTheSteps) {
  TestTensor y = floats({1, 1, 1, 1}, {9});
  const TestTensor x = floats({1, 1, 1}, {1});
  const TestTensor w = floats({1, 4, 1}, {0, 0, 0, 0});
  const TestTensor b = floats({1, 8}, Floats(8));
  const auto lengths = [](std::int32_t length) {
    return TestTensor({1}, std::vector<std::int32_t>{length});
  };
  const TestOp lstm("LSTM");
  EXPECT_EQ(lstm.run({x, w, w, b, lengths(1)}, y), "");
  EXPECT_EQ(y.values<float>(), Floats{0});  // half of tanh(0)
  EXPECT_NE(lstm.run({x, w, w, b, lengths(2)}, y), "");
  EXPECT_NE(lstm.run({x, w, w, b, lengths(-1)}, y), "");
}

TEST(LossKernel, RefusesLabelsOutOfRange) {
  TestTensor y = floats({}, {0});
  const TestTensor scores = floats({1, 2}, {-1, -3});
  TestOp loss("NegativeLogLikelihoodLoss");
  EXPECT_EQ(loss.run({scores, {{1}, Longs{1}}}, y), "");
  EXPECT_EQ(y.values<float>(), Floats{3});
  EXPECT_NE(loss.run({scores, {{1}, Longs{2}}}, y), "");
  EXPECT_NE(loss.run({scores, {{1}, Longs{-1}}}, y), "");
}

TEST(QuantizeKernel, RoundsHalfToEvenAndSaturates) {
  TestTensor y({5}, Bytes(5));
  const TestTensor x = floats({5}, {1, 3, 1000, -1000, NAN});
  const TestTensor scale = floats({}, {2});
  EXPECT_EQ(TestOp("QuantizeLinear").run({x, scale, {{}, Bytes{10}}}, y), "");
  EXPECT_EQ(y.values<std::uint8_t>(), (Bytes{10, 12, 255, 0, 0}));
  EXPECT_NE(TestOp("QuantizeLinear").run({x, floats({2}, {1, 1})}, y), "");
  using Signed = std::vector<std::int8_t>;
  TestTensor z({5}, Signed(5));
  EXPECT_EQ(TestOp("QuantizeLinear").run({x, scale, {{}, Signed{-118}}}, z), "");
  EXPECT_EQ(z.values<std::int8_t>(), (Signed{-118, -116, 127, -128, -128}));
}

TEST(MaxRoiPoolKernel, NanRegionsTerminate) {
  const TestTensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  for (const float edge : {NAN, INFINITY, -INFINITY}) {
    TestTensor y = floats({1, 1, 2, 2}, {9, 9, 9, 9});
    const TestTensor region = floats({1, 5}, {0, -edge, edge, edge, edge});
    EXPECT_EQ(TestOp("MaxRoiPool").with("pooled_shape", Longs{2, 2}).run({x, region}, y), "");
    EXPECT_NE(y.values<float>()[0], 9);
  }
}

TEST(RoiAlignKernel, RefusesARegionOfNoImage) {
  TestTensor y = floats({1, 1, 1, 1}, {0});
  const TestTensor x = floats({1, 1, 2, 2}, {4, 4, 4, 4});
  const TestTensor roi = floats({1, 4}, {0, 0, 2, 2});
  EXPECT_EQ(TestOp("RoiAlign").run({x, roi, {{1}, Longs{0}}}, y), "");
  EXPECT_EQ(y.values<float>(), Floats{4});
  EXPECT_NE(TestOp("RoiAlign").run({x, roi, {{1}, Longs{1}}}, y), "");
}

}  // namespace
}  // namespace sluice::reference
