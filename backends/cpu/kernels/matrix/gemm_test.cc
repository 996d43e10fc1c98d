#include "kernels/matrix/gemm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/body/body_builder.h"
#include "kernels/convert/convert.h"
#include "testing/test_isas.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

const ProductShape kShapes[] = {{1, 1, 1},     {1, 10, 256}, {1, 200, 33},  {2, 64, 7},
                                {3, 65, 40},   {4, 130, 17}, {7, 64, 300},  {12, 48, 64},
                                {13, 100, 65}, {30, 31, 29}, {128, 96, 50}, {250, 20, 800},
                                {64, 192, 900}};

void run_all_workers(Isa isa, const GemmPlan& plan, const GemmArgs& args, int count) {
  const std::int64_t scratch = SLUICE_CPU_PICK(isa, gemm_scratch_bytes)(plan);
  for_each_worker(count, scratch, [&](const Worker& w) {
    SLUICE_CPU_PICK(isa, run_gemm)(plan, args, w);
  });
}

TEST(Gemm, EveryFormOfBMatchesTheNaiveProduct) {
  for (const Isa isa : isas_to_test()) {
    for (const ProductShape& s : kShapes) {
      const std::vector<float> a = random_floats(s.m * s.k, 1);
      const std::vector<float> b = random_floats(s.k * s.n, 2);
      const std::vector<float> bias = random_floats(s.n, 3);
      std::vector<float> b_columns(b.size());
      for (std::int64_t p = 0; p < s.k; ++p) {
        for (std::int64_t j = 0; j < s.n; ++j) {
          b_columns[static_cast<std::size_t>(j * s.k + p)] =
              b[static_cast<std::size_t>(p * s.n + j)];
        }
      }
      std::vector<float> packed(
          static_cast<std::size_t>(SLUICE_CPU_PICK(isa, packed_gemm_b_floats)(s.k, s.n)));
      SLUICE_CPU_PICK(isa, pack_gemm_b)(b.data(), s.n, 1, s.k, s.n, 1, packed.data());
      for (const GemmB form : {GemmB::kPacked, GemmB::kRows, GemmB::kColumns}) {
        for (const int workers : {1, 2, 3}) {
          std::vector<float> c(static_cast<std::size_t>(s.m * s.n), -99);
          GemmPlan plan = GemmPlan::of(s.m, s.n, s.k);
          plan.b_form = form;
          plan.b_row = form == GemmB::kRows ? s.n : s.k;
          const float* operand = form == GemmB::kPacked ? packed.data()
                                 : form == GemmB::kRows ? b.data()
                                                        : b_columns.data();
          run_all_workers(isa, plan, {a.data(), operand, c.data(), bias.data(), {}}, workers);
          for (std::int64_t i = 0; i < s.m; ++i) {
            for (std::int64_t j = 0; j < s.n; ++j) {
              double want = bias[static_cast<std::size_t>(j)];
              for (std::int64_t p = 0; p < s.k; ++p) {
                want += double{a[static_cast<std::size_t>(i * s.k + p)]} *
                        b[static_cast<std::size_t>(p * s.n + j)];
              }
              ASSERT_NEAR(c[static_cast<std::size_t>(i * s.n + j)], want, 1e-4)
                  << isa_name(isa) << " form " << static_cast<int>(form) << " " << s.m << "x" << s.n
                  << "x" << s.k << " workers " << workers << " at " << i << "," << j;
            }
          }
        }
      }
    }
  }
}

TEST(Gemm, ScalesOnceAfterAllPiecesOfTheDepth) {
  for (const Isa isa : isas_to_test()) {
    for (const ProductShape& s : {ProductShape{3, 20, 40}, ProductShape{64, 37, 900}}) {
      const std::vector<float> a = random_floats(s.m * s.k, 1);
      const std::vector<float> b = random_floats(s.k * s.n, 2);
      const std::vector<float> bias = random_floats(s.n, 3);
      std::vector<float> results[2];
      for (const bool is_scaled : {false, true}) {
        std::vector<float>& c = results[is_scaled ? 1 : 0];
        c.resize(static_cast<std::size_t>(s.m * s.n), -99);
        GemmPlan plan = GemmPlan::of(s.m, s.n, s.k);
        plan.b_form = GemmB::kRows;
        plan.b_row = s.n;
        if (is_scaled) plan.scale = 0.3F;
        run_all_workers(isa, plan, {a.data(), b.data(), c.data(), bias.data(), {}}, 2);
      }
      for (std::size_t i = 0; i < results[0].size(); ++i) {
        EXPECT_EQ(results[1][i], 0.3F * results[0][i]) << isa_name(isa) << " at " << i;
      }
    }
  }
}

TEST(Gemm, PanelsOf16BitsEqualTheirF32Values) {
  for (const Isa isa : isas_to_test()) {
    for (const ProductShape& s : kShapes) {
      const std::vector<float> a = random_floats(s.m * s.k, 1);
      std::vector<float> b = random_floats(s.k * s.n, 2);
      // Eight bits of fraction fit both types.
      for (float& v : b) v = std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) & 0xffff0000U);
      std::vector<float> packed(
          static_cast<std::size_t>(SLUICE_CPU_PICK(isa, packed_gemm_b_floats)(s.k, s.n)));
      SLUICE_CPU_PICK(isa, pack_gemm_b)(b.data(), s.n, 1, s.k, s.n, 1, packed.data());
      std::vector<std::uint16_t> half(packed.size());
      GemmPlan plan = GemmPlan::of(s.m, s.n, s.k);
      std::vector<float> want(static_cast<std::size_t>(s.m * s.n), -99);
      run_all_workers(isa, plan, {a.data(), packed.data(), want.data(), nullptr, {}}, 1);
      for (const bool is_f16 : {false, true}) {
        plan.b_form = is_f16 ? GemmB::kPackedF16 : GemmB::kPackedBf16;
        SLUICE_CPU_PICK(isa, from_floats)
        (is_f16 ? Storage::kF16 : Storage::kBf16, packed.data(),
         static_cast<std::int64_t>(packed.size()), half.data());
        if (!is_f16) SLUICE_CPU_PICK(isa, pair_gemm_b)(s.k, s.n, half.data());
        for (const int workers : {1, 3}) {
          std::vector<float> c(want.size(), -99);
          run_all_workers(isa, plan, {a.data(), nullptr, c.data(), nullptr, {}, half.data()},
                          workers);
          ASSERT_EQ(c, want) << isa_name(isa) << " " << s.m << "x" << s.n << "x" << s.k;
        }
      }
    }
  }
}

TEST(Gemm, PackingFromColumnsAndWithAScaleIsTheSame) {
  constexpr std::int64_t kK = 37;
  constexpr std::int64_t kN = 83;
  const std::vector<float> rows = random_floats(kK * kN, 4);
  std::vector<float> columns(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) columns[i % kN * kK + i / kN] = 0.5f * rows[i];
  for (const Isa isa : isas_to_test()) {
    std::vector<float> one(
        static_cast<std::size_t>(SLUICE_CPU_PICK(isa, packed_gemm_b_floats)(kK, kN)), 5);
    std::vector<float> two(one.size(), 6);
    SLUICE_CPU_PICK(isa, pack_gemm_b)(rows.data(), kN, 1, kK, kN, 0.5f, one.data());
    SLUICE_CPU_PICK(isa, pack_gemm_b)(columns.data(), 1, kK, kK, kN, 1, two.data());
    EXPECT_EQ(one, two);
  }
}

TEST(Gemm, TransposedAWithBatchAndBroadcastB) {
  constexpr std::int64_t kM = 21;
  constexpr std::int64_t kN = 70;
  constexpr std::int64_t kK = 19;
  constexpr std::int64_t kBatch = 5;
  const std::vector<float> a = random_floats(kBatch * kM * kK, 5);
  const std::vector<float> b = random_floats(kK * kN, 6);
  for (const Isa isa : isas_to_test()) {
    for (const int workers : {1, 2, 4}) {
      std::vector<float> c(kBatch * kM * kN);
      GemmPlan plan;
      plan.m = kM;
      plan.n = kN;
      plan.k = kK;
      plan.a_row = 1;
      plan.a_step = kM;
      plan.b_form = GemmB::kRows;
      plan.b_row = kN;
      plan.c_row = kN;
      plan.batch_dims[3] = kBatch;
      plan.a_batch.stride[3] = kM * kK;
      plan.c_batch.stride[3] = kM * kN;
      run_all_workers(isa, plan, {a.data(), b.data(), c.data(), nullptr, {}}, workers);
      for (std::size_t at = 0; at < c.size(); ++at) {
        const std::size_t item = at / (kM * kN);
        const std::size_t i = at / kN % kM;
        double want = 0;
        for (std::size_t p = 0; p < kK; ++p) {
          want += double{a[item * kM * kK + p * kM + i]} * b[p * kN + at % kN];
        }
        ASSERT_NEAR(c[at], want, 1e-5);
      }
    }
  }
}

TEST(Gemm, EpilogueSeesTheRightRowsAndColumns) {
  // relu((A B + bias) * row + residual)
  BodyBuilder builder(3);
  const int scaled = builder.add_step(BodyOp::kMul, 0, 1);
  const int sum = builder.add_step(BodyOp::kAdd, scaled, 2);
  GemmPlan plan;
  ASSERT_TRUE(builder.finish(builder.add_step(BodyOp::kRelu, sum), &plan.epilogue));
  for (const Isa isa : isas_to_test()) {
    for (const ProductShape& s : kShapes) {
      const std::vector<float> a = random_floats(s.m * s.k, 7);
      const std::vector<float> b = random_floats(s.k * s.n, 8);
      const std::vector<float> per_row = random_floats(s.m, 9);
      const std::vector<float> residual = random_floats(s.m * s.n, 10);
      std::vector<float> c(static_cast<std::size_t>(s.m * s.n));
      std::vector<float> plain(c.size());
      plan.m = s.m;
      plan.n = s.n;
      plan.k = s.k;
      plan.a_row = s.k;
      plan.c_row = s.n;
      plan.b_row = s.n;
      plan.b_form = GemmB::kRows;
      plan.extra_strides[1] = {nullptr, 1, 0};
      plan.extra_strides[2] = {nullptr, s.n, 1};
      run_all_workers(
          isa, plan,
          {a.data(), b.data(), c.data(), nullptr, {nullptr, per_row.data(), residual.data()}}, 2);
      GemmPlan bare = plan;
      bare.epilogue = Body{};
      run_all_workers(isa, bare, {a.data(), b.data(), plain.data(), nullptr, {}}, 1);
      for (std::size_t i = 0; i < c.size(); ++i) {
        const float row = per_row[i / static_cast<std::size_t>(s.n)];
        ASSERT_NEAR(c[i], std::fmax(0.0f, plain[i] * row + residual[i]), 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
