#include "kernels/strassen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/body_builder.h"
#include "kernels/test_isas.h"
#include "kernels/test_support.h"

namespace sluice::cpu {
namespace {

struct Shape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

// Rows that leave blocks empty or ragged, or need more than one pass; columns of one group, of
// many, with tails.
const Shape kShapes[] = {{1, 7, 64},     {5, 64, 64},    {17, 200, 128}, {64, 192, 192},
                         {130, 250, 64}, {197, 96, 192}, {300, 33, 128}};

/// One level and two, all of K at once and in as many stretches as there may be.
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

std::vector<float> pack(Isa isa, const StrassenCut& cut, const Shape& s, const float* b) {
  std::vector<float> packed(
      static_cast<std::size_t>(SLUICE_CPU_PICK(isa, packed_strassen_b_floats)(cut, s.k, s.n)));
  SLUICE_CPU_PICK(isa, pack_strassen_b)(cut, b, s.n, 1, s.k, s.n, 1, packed.data());
  return packed;
}

GemmPlan plan_of(const Shape& s) {
  GemmPlan plan;
  plan.m = s.m;
  plan.n = s.n;
  plan.k = s.k;
  plan.a_row = s.k;
  plan.c_row = s.n;
  return plan;
}

TEST(Strassen, MatchesTheNaiveProduct) {
  for (const Isa isa : isas_to_test()) {
    for (const Shape& s : kShapes) {
      const std::vector<float> a = random_floats(s.m * s.k, 1);
      const std::vector<float> b = random_floats(s.k * s.n, 2);
      const std::vector<float> bias = random_floats(s.n, 3);
      for (const StrassenCut& cut : cuts_of(s.k)) {
        const std::vector<float> packed = pack(isa, cut, s, b.data());
        for (const int workers : {1, 2, 3, 8}) {
          const GemmPlan plan = plan_of(s);
          const std::vector<float> c =
              run(isa, cut, plan, {a.data(), packed.data(), nullptr, bias.data(), {}}, workers);
          for (std::int64_t i = 0; i < s.m; ++i) {
            for (std::int64_t j = 0; j < s.n; ++j) {
              double want = bias[static_cast<std::size_t>(j)];
              for (std::int64_t p = 0; p < s.k; ++p) {
                want += double{a[static_cast<std::size_t>(i * s.k + p)]} *
                        b[static_cast<std::size_t>(p * s.n + j)];
              }
              ASSERT_NEAR(c[static_cast<std::size_t>(i * s.n + j)], want, 1e-4)
                  << isa_name(isa) << " " << cut.levels << " levels " << cut.stretches
                  << " stretches " << s.m << "x" << s.n << "x" << s.k << " workers " << workers
                  << " at " << i << "," << j;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
