#include "kernels/strassen/strassen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/body/body_builder.h"
#include "testing/test_isas.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

// Row counts with empty or partial blocks and with several passes; column counts of one group, many
// groups and several strips, with tails.
const ProductShape kShapes[] = {{1, 7, 64},     {5, 64, 64},    {17, 200, 128}, {64, 192, 192},
                                {130, 250, 64}, {197, 96, 192}, {300, 33, 128}, {256, 600, 64}};

/// Cuts with one and two levels, with all of K at once and with the largest number of pieces.
std::vector<StrassenCut> cuts_of(std::int64_t k) {
  return {{1, 1}, {2, 1}, {1, k / 32}, {2, k / 64}};
}

std::vector<float> run(Isa isa, const StrassenCut& cut, const GemmPlan& plan, const GemmArgs& args,
                       int workers) {
  std::vector<float> c(static_cast<std::size_t>(plan.m * plan.n), -99);
  GemmArgs all = args;
  all.c = c.data();
  const std::int64_t scratch = SLUICE_CPU_PICK(isa, strassen_scratch_bytes)(cut, plan);
  for_each_worker(workers, scratch, [&](const Worker& w) {
    SLUICE_CPU_PICK(isa, run_strassen)(cut, plan, all, w);
  });
  return c;
}

std::vector<float> pack(Isa isa, const StrassenCut& cut, const ProductShape& s, const float* b) {
  std::vector<float> packed(
      static_cast<std::size_t>(SLUICE_CPU_PICK(isa, packed_strassen_b_floats)(cut, s.k, s.n)));
  SLUICE_CPU_PICK(isa, pack_strassen_b)(cut, b, s.n, 1, s.k, s.n, 1, packed.data());
  return packed;
}

std::vector<double> exact_product(const ProductShape& s, const std::vector<float>& a,
                                  const std::vector<float>& b) {
  std::vector<double> c(static_cast<std::size_t>(s.m * s.n));
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t p = 0; p < s.k; ++p) {
      const double x = a[static_cast<std::size_t>(i * s.k + p)];
      for (std::int64_t j = 0; j < s.n; ++j) {
        c[static_cast<std::size_t>(i * s.n + j)] += x * b[static_cast<std::size_t>(p * s.n + j)];
      }
    }
  }
  return c;
}

TEST(Strassen, MatchesTheNaiveProduct) {
  for (const ProductShape& s : kShapes) {
    const std::vector<float> a = random_floats(s.m * s.k, 1);
    const std::vector<float> b = random_floats(s.k * s.n, 2);
    const std::vector<float> bias = random_floats(s.n, 3);
    const std::vector<double> exact = exact_product(s, a, b);
    const GemmPlan plan = GemmPlan::of(s.m, s.n, s.k);
    for (const Isa isa : isas_to_test()) {
      for (const StrassenCut& cut : cuts_of(s.k)) {
        const std::vector<float> packed = pack(isa, cut, s, b.data());
        for (const int workers : {1, 2, 3, 8}) {
          const std::vector<float> c =
              run(isa, cut, plan, {a.data(), packed.data(), nullptr, bias.data(), {}}, workers);
          for (std::size_t i = 0; i < c.size(); ++i) {
            ASSERT_NEAR(c[i], exact[i] + bias[i % static_cast<std::size_t>(s.n)], 1e-4)
                << isa_name(isa) << " " << cut.levels << " levels " << cut.stretches
                << " stretches " << s.m << "x" << s.n << "x" << s.k << " workers " << workers
                << " at " << i;
          }
        }
      }
    }
  }
}

double largest_error(const std::vector<double>& exact, const std::vector<float>& c) {
  double largest = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    largest = std::fmax(largest, std::fabs(c[i] - exact[i]));
  }
  return largest;
}

TEST(Strassen, ErrorsAreAFewTimesThoseOfTheOrdinaryProduct) {
  constexpr ProductShape kShape = {128, 96, 768};
  const std::vector<float> a = random_floats(kShape.m * kShape.k, 1);
  const std::vector<float> b = random_floats(kShape.k * kShape.n, 2);
  const std::vector<double> exact = exact_product(kShape, a, b);
  for (const Isa isa : isas_to_test()) {
    GemmPlan plan = GemmPlan::of(kShape.m, kShape.n, kShape.k);
    plan.b_form = GemmB::kRows;
    plan.b_row = kShape.n;
    std::vector<float> ordinary(static_cast<std::size_t>(kShape.m * kShape.n));
    const std::int64_t scratch = SLUICE_CPU_PICK(isa, gemm_scratch_bytes)(plan);
    for_each_worker(1, scratch, [&](const Worker& w) {
      SLUICE_CPU_PICK(isa, run_gemm)
      (plan, {a.data(), b.data(), ordinary.data(), nullptr, {}}, w);
    });
    const double usual = largest_error(exact, ordinary);
    for (const int levels : {1, 2}) {
      const StrassenCut cut = {levels, 1};
      const std::vector<float> packed = pack(isa, cut, kShape, b.data());
      const std::vector<float> c =
          run(isa, cut, plan, {a.data(), packed.data(), nullptr, nullptr, {}}, 1);
      EXPECT_LE(largest_error(exact, c), usual * (levels == 1 ? 3 : 9)) << isa_name(isa);
    }
  }
}

TEST(Strassen, EpilogueSeesTheRightRowsAndColumns) {
  // relu((A B + bias) * row + residual), after the last of two stretches only
  constexpr ProductShape kShape = {67, 250, 128};
  BodyBuilder builder(3);
  const int scaled = builder.add_step(BodyOp::kMul, 0, 1);
  const int sum = builder.add_step(BodyOp::kAdd, scaled, 2);
  GemmPlan plan = GemmPlan::of(kShape.m, kShape.n, kShape.k);
  ASSERT_TRUE(builder.finish(builder.add_step(BodyOp::kRelu, sum), &plan.epilogue));
  plan.extra_strides[1] = {nullptr, 1, 0};
  plan.extra_strides[2] = {nullptr, kShape.n, 1};
  const std::vector<float> a = random_floats(kShape.m * kShape.k, 1);
  const std::vector<float> b = random_floats(kShape.k * kShape.n, 2);
  const std::vector<float> bias = random_floats(kShape.n, 3);
  const std::vector<float> per_row = random_floats(kShape.m, 4);
  const std::vector<float> residual = random_floats(kShape.m * kShape.n, 5);
  for (const Isa isa : isas_to_test()) {
    for (const int levels : {1, 2}) {
      const StrassenCut cut = {levels, 2};
      const std::vector<float> packed = pack(isa, cut, kShape, b.data());
      const GemmArgs args = {a.data(),
                             packed.data(),
                             nullptr,
                             bias.data(),
                             {nullptr, per_row.data(), residual.data()}};
      const std::vector<float> plain =
          run(isa, cut, GemmPlan::of(kShape.m, kShape.n, kShape.k), args, 1);
      const std::vector<float> c = run(isa, cut, plan, args, 2);
      for (std::size_t i = 0; i < c.size(); ++i) {
        const float row = per_row[i / static_cast<std::size_t>(kShape.n)];
        ASSERT_NEAR(c[i], std::fmax(0.0F, plain[i] * row + residual[i]), 1e-5) << "at " << i;
      }
    }
  }
}

TEST(Strassen, PackingFromColumnsAndWithAScaleIsTheSame) {
  constexpr ProductShape kShape = {1, 83, 64};
  constexpr StrassenCut kCut = {2, 1};
  const std::vector<float> rows = random_floats(kShape.k * kShape.n, 4);
  std::vector<float> columns(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    columns[i % kShape.n * kShape.k + i / kShape.n] = rows[i] / 2;
  }
  for (const Isa isa : isas_to_test()) {
    std::vector<float> one = pack(isa, kCut, kShape, rows.data());
    const std::vector<float> two = [&] {
      std::vector<float> packed(one.size(), 6);
      SLUICE_CPU_PICK(isa, pack_strassen_b)
      (kCut, columns.data(), 1, kShape.k, kShape.k, kShape.n, 2, packed.data());
      return packed;
    }();
    EXPECT_EQ(one, two);
  }
}

TEST(Strassen, CutsAsDeepAsBlocksAreLargeEnough) {
  EXPECT_EQ(find_strassen_cut(128, 768, 768, 2), (StrassenCut{2, 1}));
  EXPECT_EQ(find_strassen_cut(128, 3072, 768, 2), (StrassenCut{2, 4}));
  EXPECT_EQ(find_strassen_cut(128, 768, 768, 1), (StrassenCut{1, 1}));
  EXPECT_EQ(find_strassen_cut(128, 768, 768, 0), StrassenCut{});
  EXPECT_EQ(find_strassen_cut(128, 768, 768, INT64_MAX).levels, 2);
  EXPECT_EQ(find_strassen_cut(128, 768, 768, INT64_MIN), StrassenCut{});
  EXPECT_EQ(find_strassen_cut(127, 768, 768, 2).levels, 1) << "rows";
  EXPECT_EQ(find_strassen_cut(128, 768, 100, 2).levels, 1) << "columns";
  EXPECT_EQ(find_strassen_cut(128, 256, 768, 2).levels, 1) << "depth";
  EXPECT_EQ(find_strassen_cut(1, 768, 768, 2).levels, 0);
  EXPECT_EQ(find_strassen_cut(128, 776, 768, 2).levels, 0) << "no whole vectors";
  EXPECT_EQ(find_strassen_cut(128, 1568, 768, 2), (StrassenCut{1, 7})) << "depth of 112";
}

}  // namespace
}  // namespace sluice::cpu
