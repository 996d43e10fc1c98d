// Distances of rows, and places of constant keys.
#include <gtest/gtest.h>

#include "testing/op_testing.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Floats = std::vector<float>;

TEST(CpuSquaredDistances, MatchDistancesOfAllRowPairsAtEveryWidth) {
  for (const std::size_t rows : {3, 13}) {
    for (const std::size_t columns : {1, 7, 16, 37, 5000}) {
      const std::size_t others = 43;
      const Floats a = random_floats(rows * columns, 1);
      const Floats b = random_floats(others * columns, 2);
      for (const Backend& backend : backends_to_test()) {
        for (const int workers : {1, 3}) {
          TestOp op("SquaredDistances", "sluice", 1);
          const auto width = static_cast<std::int64_t>(columns);
          const auto height = static_cast<std::int64_t>(rows);
          op.input({height, width}, a).input({43, width}, b).output({height, 43});
          const Status status = op.run(backend, workers);
          ASSERT_TRUE(status.is_ok()) << status.text;
          for (std::size_t i = 0; i < rows * others; ++i) {
            double sum = 0;
            for (std::size_t k = 0; k < columns; ++k) {
              const double d = double{a[i / others * columns + k]} - b[i % others * columns + k];
              sum += d * d;
            }
            EXPECT_NEAR(op.result()[i], sum, 1e-5 * (sum + 1)) << columns << " at " << i;
          }
        }
      }
    }
  }
}

TEST(CpuFindKey, KnowsConstantKeysByTheirLastPlace) {
  using Longs = std::vector<std::int64_t>;
  const Longs keys = {4, 5, 4};
  for (const Backend& backend : backends_to_test()) {
    TestOp op("FindKey", "sluice", 1);
    op.input<std::int64_t>({2, 2}, {5, 4, 6, 5});
    op.input<std::int64_t>({3}, keys, true).output<std::int64_t>({2, 2});
    const Status status = op.run(backend, 2);
    ASSERT_TRUE(status.is_ok()) << status.text;
    EXPECT_EQ(op.result<std::int64_t>(), (Longs{1, 2, 3, 1}));
  }
}

}  // namespace
}  // namespace sluice::cpu
