#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string_view>

#include "ops/elementwise/chain.h"
#include "testing/op_testing.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Floats = std::vector<float>;

Floats iota(std::size_t count, float first = 0) {
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i);
  return values;
}

/// a [m][k] times b [k][n].
Floats multiply(const Floats& a, const Floats& b, std::size_t m, std::size_t k, std::size_t n) {
  Floats c(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t p = 0; p < k; ++p) sum += double{a[i * k + p]} * b[p * n + j];
      c[i * n + j] = static_cast<float>(sum);
    }
  }
  return c;
}

void expect_near(const Floats& got, const Floats& want, float tolerance = 1e-4F) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance) << "at " << i;
  }
}

void expect_runs(TestOp& op, const Backend& backend, int workers) {
  const Status status = op.run(backend, workers);
  ASSERT_TRUE(status.is_ok()) << status.text;
}

TEST(CpuMatMul, ConstantWeightsBiasAndGeluInOneKernel) {
  const Floats x = random_floats(2 * 17 * 40, 1);
  const Floats w = random_floats(40 * 70, 2);
  const Floats bias = random_floats(70, 3);
  const Floats plain = multiply(x, w, 34, 40, 70);
  Floats want(plain.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double v = plain[i] + bias[i % 70];
    want[i] = static_cast<float>(0.5 * v * (1 + std::erf(v / std::sqrt(2.0))));
  }
  for (const Backend& backend : backends_to_test()) {
    for (const int workers : {1, 2, 3}) {
      TestOp op("MatMul");
      op.input({2, 17, 40}, x).input({40, 70}, w, true).body_input({70}, bias).output({2, 17, 70});
      op.step("Add", {0, 1}).step("Gelu", {2});
      expect_runs(op, backend, workers);
      expect_near(op.result(), want);
    }
  }
}

TEST(CpuMatMul, BodyOperandWithoutRowStrideNeedsASecondPass) {
  // [3,4,8] * [8,5] + [4,5], repeated over the first dimension
  const Floats x = random_floats(3 * 4 * 8, 1);
  const Floats w = random_floats(8 * 5, 2);
  const Floats add = random_floats(4 * 5, 3);
  Floats want = multiply(x, w, 12, 8, 5);
  for (std::size_t i = 0; i < want.size(); ++i) want[i] += add[i % 20];
  for (const Backend& backend : backends_to_test()) {
    TestOp op("MatMul");
    op.input({3, 4, 8}, x).input({8, 5}, w, true).body_input({4, 5}, add).output({3, 4, 5});
    op.step("Add", {0, 1});
    expect_runs(op, backend, 2);
    expect_near(op.result(), want);
  }
}

TEST(CpuMatMul, WeightsMayBeRoundedToSixteenBits) {
  for (const std::int64_t rows : {1, 5, 30}) {
    const Floats x = random_floats(static_cast<std::size_t>(rows) * 40, 1);
    Floats w = random_floats(40 * 70, 2);
    w[0] = 1.00390625F;  // 1 + 2^-8: a tie, to the even 1
    Floats rounded = w;
    for (float& v : rounded) {
      const auto bits = std::bit_cast<std::uint32_t>(v);
      v = std::bit_cast<float>((bits + 0x7fffU + (bits >> 16 & 1U)) & 0xffff0000U);
    }
    ASSERT_EQ(rounded[0], 1.0F);
    const Floats want = multiply(x, rounded, static_cast<std::size_t>(rows), 40, 70);
    for (const Backend& backend : backends_to_test()) {
      TestOp op("MatMul");
      op.input({rows, 40}, x).input({40, 70}, w, true).output({rows, 70});
      op.attribute("sluice_weights", "bf16");
      sluice_packing packing = {};
      ASSERT_TRUE(backend.packing(op.op(), 1, &packing).is_ok());
      EXPECT_LE(packing.size_bytes, std::int64_t{40} * 80 * 2);
      EXPECT_EQ(std::string_view(packing.format).substr(0, 11), "pairs_bf16/");
      expect_runs(op, backend, 2);
      expect_near(op.result(), want);
    }
  }
}

TEST(CpuMatMul, EightBitsAreCloseAndTheBodyRunsOnce) {
  for (const std::int64_t rows : {1, 5, 90}) {
    const Floats x = random_floats(static_cast<std::size_t>(rows) * 40, 1);
    const Floats w = random_floats(40 * 70, 2);
    const Floats scale = random_floats(70, 3);
    const Floats exact = multiply(x, w, static_cast<std::size_t>(rows), 40, 70);
    for (const Backend& backend : backends_to_test()) {
      TestOp op("MatMul");
      op.input({1, rows, 40}, x).input({40, 70}, w, true).output({1, rows, 70});
      op.body_input({70}, scale).step("Mul", {0, 1}).attribute("sluice_weights", "int8");
      sluice_packing packing = {};
      ASSERT_TRUE(backend.packing(op.op(), 1, &packing).is_ok());
      EXPECT_LE(packing.size_bytes, std::int64_t{48} * 128);
      EXPECT_EQ(std::string_view(packing.format).substr(0, 12), "panels_int8/");
      expect_runs(op, backend, 2);
      const Floats got = op.result();
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_NEAR(got[i], exact[i] * scale[i % 70], 0.1) << rows << " rows at " << i;
      }
    }
  }
}

/// [2, 64, 384] times a constant, a bias and Relu, with so many levels of Strassen's method
/// allowed.
TestOp cut_product(const Floats& x, const Floats& w, const Floats& bias, int levels) {
  TestOp op("MatMul");
  op.input({2, 64, 384}, x).input({384, 200}, w, true).body_input({200}, bias);
  op.output({2, 64, 200}).step("Add", {0, 1}).step("Relu", {2});
  if (levels > 0) op.attribute("sluice_strassen", std::int64_t{levels});
  return op;
}

sluice_packing packing_of(const Backend& backend, const sluice_op& op) {
  sluice_packing packing = {};
  EXPECT_TRUE(backend.packing(op, 1, &packing).is_ok());
  return packing;
}

TEST(CpuMatMul, StrassensMethodIsAsClose) {
  const Floats x = random_floats(128 * 384, 1);
  const Floats w = random_floats(384 * 200, 2);
  const Floats bias = random_floats(200, 3);
  Floats want = multiply(x, w, 128, 384, 200);
  for (std::size_t i = 0; i < want.size(); ++i) want[i] = std::fmax(0, want[i] + bias[i % 200]);
  for (const Backend& backend : backends_to_test()) {
    for (const int levels : {1, 2}) {
      TestOp op = cut_product(x, w, bias, levels);
      const std::string form = "strassen" + std::to_string(levels) + "_pairs_1/";
      EXPECT_EQ(std::string(packing_of(backend, op.op()).format).substr(0, form.size()), form);
      for (const int workers : {1, 2, 3}) {
        expect_runs(op, backend, workers);
        expect_near(op.result(), want, 2e-4F);
      }
    }
  }
}

TEST(CpuMatMul, ProductWithOneNumberIsPartOfIt) {
  for (const std::size_t rows : {std::size_t{3}, std::size_t{70}}) {
    const auto m = static_cast<std::int64_t>(rows);
    const Floats x = random_floats(m * 40, 1);
    const Floats w = random_floats(40 * 33, 2);
    Floats want = multiply(x, w, rows, 40, 33);
    for (float& value : want) value *= 0.125F;
    for (const auto& registers : {std::vector<std::int32_t>{1, 0}, {0, 1}}) {
      for (const Backend& backend : backends_to_test()) {
        TestOp op("MatMul");
        op.input({1, m, 40}, x).input({1, 40, 33}, w).output({1, m, 33});
        op.body_constant(0.125F).step("Mul", registers);
        expect_runs(op, backend, 2);
        expect_near(op.result(), want, 1e-5F);
      }
    }
  }
}

TEST(CpuMatMul, StrassensMethodIsForManyKnownRows) {
  const Floats x = random_floats(128 * 384, 1);
  const Floats w = random_floats(384 * 200, 2);
  for (const Backend& backend : backends_to_test()) {
    TestOp usual = cut_product(x, w, Floats(200), 0);
    TestOp cut = cut_product(x, w, Floats(200), 2);
    sluice_op unknown = cut.op();
    std::vector<sluice_operand> inputs(unknown.inputs, unknown.inputs + unknown.num_inputs);
    unknown.inputs = inputs.data();
    for (const std::int64_t rows : {-1, 16}) {
      const std::int64_t dims[] = {2, rows, 384};
      inputs[0].tensor.dims = dims;
      EXPECT_STREQ(packing_of(backend, unknown).format, packing_of(backend, usual.op()).format);
    }
  }
}

TEST(CpuMatMul, TakesWeightsPackedBeforeRowsWereKnown) {
  const Floats x = random_floats(128 * 384, 1);
  const Floats w = random_floats(384 * 200, 2);
  const Floats bias = random_floats(200, 3);
  for (const Backend& backend : backends_to_test()) {
    TestOp usual = cut_product(x, w, bias, 0);
    const std::int64_t bytes = packing_of(backend, usual.op()).size_bytes;
    Floats packed(static_cast<std::size_t>(bytes) / sizeof(float));
    ASSERT_TRUE(backend.pack(usual.op(), 1, packed.data()).is_ok());
    expect_runs(usual, backend, 2);
    TestOp cut = cut_product(x, w, bias, 2);
    cut.packed_input(1, packed.data(), bytes);
    expect_runs(cut, backend, 2);
    EXPECT_EQ(cut.result(), usual.result());
  }
}

TEST(CpuMatMul, RefusesPackedWeightsOfAnotherSize) {
  const Floats w = random_floats(384 * 200, 2);
  for (const int levels : {0, 1, 2}) {
    TestOp op = cut_product(random_floats(128 * 384, 1), w, Floats(200), levels);
    op.packed_input(1, w.data(), 64);
    std::unique_ptr<Kernel> kernel;
    EXPECT_EQ(op.make(Backend(), &kernel).code, SLUICE_INVALID_ARGUMENT);
  }
}

TEST(CpuGemm, StrassensMethodSupportsColumnsAndAlpha) {
  const Floats x = random_floats(70 * 192, 1);
  const Floats w = random_floats(192 * 110, 2);
  Floats columns(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) columns[i % 110 * 192 + i / 110] = w[i];
  Floats want = multiply(x, w, 70, 192, 110);
  for (float& v : want) v *= 0.5F;
  for (const Backend& backend : backends_to_test()) {
    TestOp op("Gemm");
    op.input({70, 192}, x).input({110, 192}, columns, true).output({70, 110});
    op.attribute("transB", std::int64_t{1}).attribute("alpha", 0.5F);
    op.attribute("sluice_strassen", std::int64_t{1});
    EXPECT_EQ(std::string_view(packing_of(backend, op.op()).format).substr(0, 9), "strassen1");
    expect_runs(op, backend, 2);
    expect_near(op.result(), want);
  }
}

TEST(CpuMatMul, BatchBroadcastsBothWays) {
  const Floats a = random_floats(2 * 1 * 3 * 4, 1);
  const Floats b = random_floats(5 * 4 * 6, 2);
  Floats want;
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      const auto ai = a.begin() + static_cast<long>(i * 12);
      const auto bj = b.begin() + static_cast<long>(j * 24);
      const Floats part = multiply(Floats(ai, ai + 12), Floats(bj, bj + 24), 3, 4, 6);
      want.insert(want.end(), part.begin(), part.end());
    }
  }
  for (const Backend& backend : backends_to_test()) {
    TestOp op("MatMul");
    op.input({2, 1, 3, 4}, a).input({5, 4, 6}, b).output({2, 5, 3, 6});
    expect_runs(op, backend, 2);
    expect_near(op.result(), want);
  }
}

TEST(CpuGemm, TransposesScalesAndEveryFormOfC) {
  const Floats a = random_floats(6 * 9, 1);  // [9][6], transposed: 6 x 9
  const Floats b = random_floats(9 * 7, 2);  // [7][9], transposed: 9 x 7
  Floats at(a.size());
  Floats bt(b.size());
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t p = 0; p < 9; ++p) at[i * 9 + p] = a[p * 6 + i];
  }
  for (std::size_t p = 0; p < 9; ++p) {
    for (std::size_t j = 0; j < 7; ++j) bt[p * 7 + j] = b[j * 9 + p];
  }
  const Floats plain = multiply(at, bt, 6, 9, 7);
  const Floats c = random_floats(42, 3);
  for (const Backend& backend : backends_to_test()) {
    for (const bool constant : {true, false}) {
      for (const Shape& dims : {Shape{7}, Shape{6, 1}, Shape{6, 7}, Shape{1}, Shape{1, 7}}) {
        for (const float beta : {1.0F, 0.5F}) {
          std::size_t count = 1;
          for (const std::int64_t d : dims) count *= static_cast<std::size_t>(d);
          TestOp op("Gemm");
          op.input({9, 6}, a)
              .input({7, 9}, b, constant)
              .input(dims, Floats(c.begin(), c.begin() + static_cast<long>(count)));
          op.output({6, 7})
              .attribute("transA", std::int64_t{1})
              .attribute("transB", std::int64_t{1});
          op.attribute("alpha", 2.0F).attribute("beta", beta);
          expect_runs(op, backend, 2);
          Floats want(42);
          for (std::size_t i = 0; i < 42; ++i) {
            const std::size_t at_c = count == 42 ? i : count == 7 ? i % 7 : count == 6 ? i / 7 : 0;
            want[i] = 2 * plain[i] + beta * c[at_c];
          }
          expect_near(op.result(), want);
        }
      }
    }
  }
}

TEST(CpuElementwise, BroadcastsOverSeveralDimensions) {
  const Floats a = random_floats(3 * 1 * 5, 1);
  const Floats b = random_floats(4 * 1, 2);
  for (const Backend& backend : backends_to_test()) {
    TestOp op("Sub");
    op.input({2, 3, 1, 5}, random_floats(30, 3)).input({4, 1}, b).output({2, 3, 4, 5});
    expect_runs(op, backend, 3);
    const Floats x = random_floats(30, 3);
    Floats want(120);
    for (std::size_t i = 0; i < 120; ++i) {
      want[i] = x[i / 20 * 5 + i % 5] - b[i / 5 % 4];
    }
    expect_near(op.result(), want, 0);
  }
}

TEST(CpuElementwise, LargeFusedChainOnManyWorkers) {
  const Floats x = random_floats(100000, 1);
  const Floats y = random_floats(100, 2);
  for (const Backend& backend : backends_to_test()) {
    for (const int workers : {1, 2, 3}) {
      TestOp op("Elementwise", "sluice", 1);
      op.body_input({1000, 100}, x).body_input({100}, y).output({1000, 100});
      op.step("Mul", {0, 1}).step("Relu", {2}).step("Sub", {3, 0});
      expect_runs(op, backend, workers);
      Floats want(x.size());
      for (std::size_t i = 0; i < x.size(); ++i)
        want[i] = std::fmax(x[i] * y[i % 100], 0.0F) - x[i];
      expect_near(op.result(), want, 1e-6F);
    }
  }
}

TEST(CpuElementwise, ProductOfAValueAndItsSigmoidIsOneStep) {
  const Floats x = random_floats(1000, 1);
  for (const auto& registers : {std::vector<std::int32_t>{0, 1}, {1, 0}}) {
    TestOp op("Elementwise", "sluice", 1);
    op.body_input({1000}, x).output({1000}).step("Sigmoid", {0}).step("Mul", registers);
    Chain chain;
    ASSERT_TRUE(translate_body(op.op(), &chain).is_ok());
    EXPECT_EQ(chain.body.step_count, 1);
    EXPECT_EQ(chain.body.temp_count, 0);
    for (const Backend& backend : backends_to_test()) {
      expect_runs(op, backend, 2);
      Floats want(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) want[i] = x[i] / (1 + std::exp(-x[i]));
      expect_near(op.result(), want, 1e-6F);
    }
  }
}

TEST(CpuElementwise, RefusesOperandsThatDoNotBroadcast) {
  TestOp op("Add");
  op.input({2, 3}, iota(6)).input({2}, iota(2)).output({2, 3});
  EXPECT_FALSE(op.run(Backend(), 1).is_ok());
}

TEST(CpuSoftmax, OldVersionsFlattenFromTheAxisOn) {
  for (const Backend& backend : backends_to_test()) {
    TestOp now("Softmax", "", 13);
    now.input({2, 2, 2}, Floats(8, 1)).output({2, 2, 2}).attribute("axis", std::int64_t{1});
    expect_runs(now, backend, 1);
    expect_near(now.result(), Floats(8, 0.5F), 1e-6F);
    TestOp old("Softmax", "", 11);
    old.input({2, 2, 2}, Floats(8, 1)).output({2, 2, 2}).attribute("axis", std::int64_t{1});
    expect_runs(old, backend, 1);
    expect_near(old.result(), Floats(8, 0.25F), 1e-6F);
  }
}

TEST(CpuLayerNorm, RowsOfSeveralDimensions) {
  for (const Backend& backend : backends_to_test()) {
    TestOp op("LayerNormalization", "", 17);
    op.input({2, 2, 2}, {1, 2, 3, 4, 2, 2, 2, 2}).input({2, 2}, {1, 1, 1, 2});
    op.input({2, 2}, {0, 0, 0, 1}).output({2, 2, 2}).attribute("axis", std::int64_t{1});
    expect_runs(op, backend, 2);
    const float s = 1 / std::sqrt(1.25F);
    expect_near(op.result(), {-1.5F * s, -0.5F * s, 0.5F * s, 3 * s + 1, 0, 0, 0, 1});
  }
}

TEST(CpuCopies, TransposeOfEveryElementSize) {
  TestOp op("Transpose");
  op.input({2, 3, 4}, iota(24)).output({4, 2, 3}).attribute("perm", Shape{2, 0, 1});
  expect_runs(op, Backend(), 2);
  Floats want;
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t i = 0; i < 6; ++i) want.push_back(static_cast<float>(i * 4 + k));
  }
  EXPECT_EQ(op.result(), want);
  TestOp bytes("Transpose");
  bytes.input<std::uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6}).output<std::uint8_t>({3, 2});
  expect_runs(bytes, Backend(), 1);
  EXPECT_EQ(bytes.result<std::uint8_t>(), (std::vector<std::uint8_t>{1, 4, 2, 5, 3, 6}));
}

TEST(CpuCopies, SliceWithNegativeStepsAndConcatSplitBack) {
  TestOp slice("Slice");
  slice.input({3, 5}, iota(15)).input<std::int64_t>({2}, {-1, 4}, true);
  slice.input<std::int64_t>({2}, {INT64_MIN, 0}, true).input<std::int64_t>({2}, {0, 1}, true);
  slice.input<std::int64_t>({2}, {-2, -2}, true).output({2, 2});
  expect_runs(slice, Backend(), 1);
  EXPECT_EQ(slice.result(), (Floats{14, 12, 4, 2}));
  for (const int workers : {1, 2, 3}) {
    TestOp concat("Concat");
    concat.input({2, 1}, {1, 2}).input({2, 2}, {3, 4, 5, 6}).output({2, 3});
    concat.attribute("axis", std::int64_t{-1});
    expect_runs(concat, Backend(), workers);
    EXPECT_EQ(concat.result(), (Floats{1, 3, 4, 2, 5, 6}));
    TestOp split("Split");
    split.input({2, 3}, {1, 3, 4, 2, 5, 6}).output({2, 1}).output({2, 2});
    split.attribute("axis", std::int64_t{1});
    expect_runs(split, Backend(), workers);
    EXPECT_EQ(split.result(0), (Floats{1, 2}));
    EXPECT_EQ(split.result(1), (Floats{3, 4, 5, 6}));
  }
}

TEST(CpuCopies, GatherTakesNegativeIndicesAndRefusesIndicesOutOfRange) {
  TestOp op("Gather");
  op.input({2, 3}, iota(6)).input<std::int64_t>({2}, {-1, 0}).output({2, 2});
  op.attribute("axis", std::int64_t{1});
  expect_runs(op, Backend(), 1);
  EXPECT_EQ(op.result(), (Floats{2, 0, 5, 3}));
  TestOp bad("Gather");
  bad.input({2, 3}, iota(6)).input<std::int64_t>({1}, {3}).output({2, 1});
  bad.attribute("axis", std::int64_t{1});
  EXPECT_EQ(bad.run(Backend(), 1).code, SLUICE_OUT_OF_RANGE);
}

TEST(CpuAttention, PastIsJoinedAndSeenByCausalQueries) {
  // One head of size 1, values tell which keys were seen.
  for (const Backend& backend : backends_to_test()) {
    TestOp op("Attention", "sluice", 1);
    op.input({1, 1, 2, 1}, {0, 0}).input({1, 1, 2, 1}, {5, 6}).input({1, 1, 2, 1}, {30, 60});
    op.absent_input().input({1, 1, 1, 1}, {4}).input({1, 1, 1, 1}, {0});
    op.output({1, 1, 2, 1}).output({1, 1, 3, 1}).output({1, 1, 3, 1});
    op.attribute("is_causal", std::int64_t{1});
    expect_runs(op, backend, 2);
    expect_near(op.result(0), {15, 30});
    EXPECT_EQ(op.result(1), (Floats{4, 5, 6}));
    EXPECT_EQ(op.result(2), (Floats{0, 30, 60}));
  }
}

TEST(CpuReduce, ReadsAxesFromInputOrDefault) {
  TestOp mean("ReduceMean", "", 18);
  mean.input({2, 2, 3}, iota(12)).input<std::int64_t>({1}, {-2}, true).output({2, 1, 3});
  expect_runs(mean, Backend(), 2);
  expect_near(mean.result(), {1.5F, 2.5F, 3.5F, 7.5F, 8.5F, 9.5F}, 1e-6F);
  TestOp largest("ReduceMax", "", 18);
  largest.input({2, 2, 3}, iota(12)).input<std::int64_t>({2}, {1, 2}, true).output({2});
  expect_runs(largest, Backend(), 1);
  EXPECT_EQ(largest.result(), (Floats{5, 11}));
  TestOp all("ReduceL2", "", 18);
  all.input({2, 2}, {1, 1, 1, 1}).output({});
  expect_runs(all, Backend(), 1);
  EXPECT_EQ(all.result(), (Floats{2}));
}

TEST(CpuLstm, OneUnitSumsItsInputs) {
  // All gates open wide, candidate saturated: c counts the steps, h is its tanh.
  for (const Backend& backend : backends_to_test()) {
    for (const int workers : {1, 2}) {
      TestOp op("LSTM", "", 14);
      op.input({3, 1, 1}, {1, 1, 1}).input({1, 4, 1}, Floats(4, 50), true);
      op.input({1, 4, 1}, Floats(4, 0), true);
      op.output({3, 1, 1, 1}).output({1, 1, 1}).output({1, 1, 1});
      op.attribute("direction", "forward").attribute("hidden_size", std::int64_t{1});
      expect_runs(op, backend, workers);
      expect_near(op.result(0), {std::tanh(1.0F), std::tanh(2.0F), std::tanh(3.0F)}, 1e-6F);
      expect_near(op.result(1), {std::tanh(3.0F)}, 1e-6F);
      expect_near(op.result(2), {3}, 1e-6F);
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
