#include "kernels/rows/rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "testing/test_isas.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

constexpr std::int64_t kWidths[] = {1, 3, 16, 63, 64, 65, 100, 768, 1000};

TEST(Norm, MatchesDoubleArithmeticAtEveryWidth) {
  constexpr std::int64_t kRows = 7;
  for (const Isa isa : isas_to_test()) {
    for (const std::int64_t cols : kWidths) {
      for (const NormKind kind : {NormKind::kLayer, NormKind::kRms}) {
        const std::vector<float> x = random_floats(kRows * cols, 1);
        const std::vector<float> scale = random_floats(cols, 2);
        const std::vector<float> bias = random_floats(cols, 3);
        std::vector<float> y(x.size());
        std::vector<float> means(kRows);
        std::vector<float> inverses(kRows);
        const NormPlan plan{kRows, cols, 1e-3f, kind};
        for_each_worker(2, 0, [&](const Worker& w) {
          SLUICE_CPU_PICK(isa, run_norm)
          (plan, x.data(), scale.data(), bias.data(), y.data(), {means.data(), inverses.data()}, w);
        });
        for (std::size_t r = 0; r < kRows; ++r) {
          const float* row = x.data() + r * static_cast<std::size_t>(cols);
          double mean = 0;
          for (std::int64_t c = 0; c < cols; ++c) mean += row[c] / static_cast<double>(cols);
          if (kind == NormKind::kRms) mean = 0;
          double variance = 0;
          for (std::int64_t c = 0; c < cols; ++c) {
            variance += (row[c] - mean) * (row[c] - mean) / static_cast<double>(cols);
          }
          const double inverse = 1 / std::sqrt(variance + 1e-3);
          EXPECT_NEAR(means[r], mean, 1e-6);
          EXPECT_NEAR(inverses[r], inverse, 1e-5 * inverse);
          for (std::int64_t c = 0; c < cols; ++c) {
            const std::size_t i = static_cast<std::size_t>(c);
            ASSERT_NEAR(y[r * static_cast<std::size_t>(cols) + i],
                        (row[c] - mean) * inverse * scale[i] + bias[i], 2e-5)
                << isa_name(isa) << " cols " << cols;
          }
        }
      }
    }
  }
}

void check_softmax(Isa isa, const SoftmaxPlan& plan) {
  std::vector<float> x = random_floats(plan.outer * plan.axis * plan.inner, 4);
  for (float& v : x) v *= 20;
  std::vector<float> y(x.size(), -1);
  for_each_worker(3, 0, [&](const Worker& w) {
    SLUICE_CPU_PICK(isa, run_softmax)(plan, x.data(), y.data(), w);
  });
  for (std::int64_t o = 0; o < plan.outer; ++o) {
    for (std::int64_t i = 0; i < plan.inner; ++i) {
      const auto at = [&](std::int64_t a) {
        return static_cast<std::size_t>((o * plan.axis + a) * plan.inner + i);
      };
      double sum = 0;
      for (std::int64_t a = 0; a < plan.axis; ++a) sum += std::exp(double{x[at(a)]});
      for (std::int64_t a = 0; a < plan.axis; ++a) {
        ASSERT_NEAR(y[at(a)], std::exp(double{x[at(a)]}) / sum, 2e-6) << isa_name(isa);
      }
    }
  }
}

TEST(Softmax, RowsAndColumnsAtEveryWidth) {
  for (const Isa isa : isas_to_test()) {
    for (const std::int64_t width : kWidths) {
      check_softmax(isa, {5, width, 1});
      check_softmax(isa, {2, 9, width});
    }
  }
}

TEST(Softmax, LogarithmKeepsItsDigitsBesideALargeMaximum) {
  for (const Isa isa : isas_to_test()) {
    for (const float offset : {0.0f, 1e4f, 1e5f, -1e7f, 1e9f}) {
      for (const std::int64_t inner : {1, 3, 40}) {
        std::vector<float> x = random_floats(9 * inner, 5);
        for (float& v : x) v += offset;
        std::vector<float> y(x.size());
        SLUICE_CPU_PICK(isa, run_softmax)({1, 9, inner, true}, x.data(), y.data(), Worker{});
        for (std::int64_t i = 0; i < inner; ++i) {
          const auto at = [&](std::int64_t r) { return static_cast<std::size_t>(r * inner + i); };
          double top = x[at(0)];
          for (std::int64_t r = 1; r < 9; ++r) top = std::fmax(top, x[at(r)]);
          double sum = 0;
          for (std::int64_t r = 0; r < 9; ++r) sum += std::exp(x[at(r)] - top);
          for (std::int64_t r = 0; r < 9; ++r) {
            ASSERT_NEAR(y[at(r)], x[at(r)] - top - std::log(sum), 1e-5) << isa_name(isa) << offset;
          }
        }
      }
    }
  }
}

TEST(Norm, HugeAndTinyRowsAreThoseOfDoubles) {
  for (const Isa isa : isas_to_test()) {
    for (const float size : {3e38f, 1e20f, 1e-25f}) {
      std::vector<float> x = random_floats(100, 6);
      for (float& v : x) v *= size;
      const std::vector<float> ones(100, 1.0f);
      std::vector<float> y(100);
      SLUICE_CPU_PICK(isa, run_norm)
      ({1, 100, 0, NormKind::kRms}, x.data(), ones.data(), nullptr, y.data(), {}, Worker{});
      double mean_square = 0;
      for (const float v : x) mean_square += double{v} * v / 100;
      for (std::size_t i = 0; i < 100; ++i) {
        ASSERT_NEAR(y[i], x[i] / std::sqrt(mean_square), 1e-5) << isa_name(isa) << " " << size;
      }
    }
  }
}

TEST(Softmax, MaskedEntriesAreZero) {
  const float inf = INFINITY;
  for (const Isa isa : isas_to_test()) {
    std::vector<float> x{-inf, 1, 1, -inf, -1e30f};
    SLUICE_CPU_PICK(isa, run_softmax)({1, 5, 1}, x.data(), x.data(), Worker{});
    EXPECT_EQ(x, (std::vector<float>{0, 0.5f, 0.5f, 0, 0}));
  }
}

}  // namespace
}  // namespace sluice::cpu
