#include "kernels/rows/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "testing/test_isas.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

double combine(ReduceKind kind, double sum, double x) {
  switch (kind) {
    case ReduceKind::kSum: return sum + x;
    case ReduceKind::kSumOfSquares: return sum + x * x;
    case ReduceKind::kSumOfMagnitudes: return sum + std::fabs(x);
    case ReduceKind::kMax: return std::max(sum, x);
    case ReduceKind::kMin: return std::min(sum, x);
    case ReduceKind::kProduct: return sum * x;
  }
  return sum;
}

double first(ReduceKind kind) {
  if (kind == ReduceKind::kMax) return -INFINITY;
  return kind == ReduceKind::kMin ? INFINITY : 0;
}

constexpr ReduceKind kKinds[] = {ReduceKind::kSum, ReduceKind::kSumOfSquares,
                                 ReduceKind::kSumOfMagnitudes, ReduceKind::kMax, ReduceKind::kMin};

TEST(Reduce, MatchesDoubleArithmeticAlongEveryAxis) {
  const std::int64_t shapes[][3] = {{5, 1, 1},  {3, 17, 1},   {2, 100, 1}, {1, 10000, 1},
                                    {4, 9, 33}, {1, 1000, 7}, {2, 3, 64},  {37, 3, 1},
                                    {20, 8, 1}, {5, 9, 1},    {50, 1, 1}};
  for (const Isa isa : isas_to_test()) {
    for (const ReduceKind kind : kKinds) {
      for (const auto& [outer, axis, inner] : shapes) {
        const ReducePlan plan{outer, axis, inner, kind, 2, false};
        const std::vector<float> x = random_floats(outer * axis * inner, 1);
        std::vector<float> y(static_cast<std::size_t>(outer * inner));
        for_each_worker(3, 0, [&](const Worker& w) {
          SLUICE_CPU_PICK(isa, run_reduce)(plan, x.data(), y.data(), w);
        });
        for (std::int64_t i = 0; i < outer * inner; ++i) {
          double want = first(kind);
          for (std::int64_t a = 0; a < axis; ++a) {
            const std::int64_t at = (i / inner * axis + a) * inner + i % inner;
            want = combine(kind, want, x[static_cast<std::size_t>(at)]);
          }
          ASSERT_NEAR(y[static_cast<std::size_t>(i)], 0.5 * want, 1e-5 * (1 + std::fabs(want)))
              << isa_name(isa);
        }
      }
    }
  }
}

TEST(Reduce, RootsAndNan) {
  for (const Isa isa : isas_to_test()) {
    const std::vector<float> x{3, 4};
    float y = 0;
    SLUICE_CPU_PICK(isa, run_reduce)
    ({1, 2, 1, ReduceKind::kSumOfSquares, 1, true}, x.data(), &y, Worker{});
    EXPECT_FLOAT_EQ(y, 5);
    std::vector<float> row(50, 1);
    row[20] = NAN;
    SLUICE_CPU_PICK(isa, run_reduce)
    ({1, 50, 1, ReduceKind::kMax, 1, false}, row.data(), &y, Worker{});
    EXPECT_TRUE(std::isnan(y));
  }
}

TEST(Reduce, ShortRowsKeepWhatIsNoNumberAndSumsBeyondFloats) {
  for (const Isa isa : isas_to_test()) {
    for (std::int64_t n = 3; n < 20; ++n) {
      std::vector<float> x(static_cast<std::size_t>(21 * n), 1);
      const auto at = [&](std::int64_t row, std::int64_t place) -> float& {
        return x[static_cast<std::size_t>(row * n + place)];
      };
      at(2, 0) = NAN;
      at(3, n - 1) = NAN;
      at(5, 0) = 3e38F;
      at(5, 1) = 3e38F;
      at(5, 2) = -3e38F;
      at(7, 1) = -INFINITY;
      std::vector<float> sums(21), most(21);
      SLUICE_CPU_PICK(isa, run_reduce)
      ({21, n, 1, ReduceKind::kSum}, x.data(), sums.data(), Worker{});
      SLUICE_CPU_PICK(isa, run_reduce)
      ({21, n, 1, ReduceKind::kMax}, x.data(), most.data(), Worker{});
      for (const std::size_t row : {2U, 3U}) {
        EXPECT_TRUE(std::isnan(sums[row]) && std::isnan(most[row])) << isa_name(isa) << " " << n;
      }
      EXPECT_EQ(sums[5], 3e38F) << isa_name(isa) << " " << n;
      EXPECT_EQ(most[5], 3e38F);
      EXPECT_EQ(sums[7], -INFINITY);
      EXPECT_EQ(most[7], 1);
      EXPECT_EQ(sums[20], static_cast<float>(n));
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
