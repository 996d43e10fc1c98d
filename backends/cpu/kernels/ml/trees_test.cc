#include "kernels/ml/trees.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "testing/test_isas.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

std::int32_t plain_key(const std::vector<double>& splits, double x) {
  if (std::isnan(x)) return kNanKey;
  const auto at = std::ranges::lower_bound(splits, x);
  return static_cast<std::int32_t>(2 * (at - splits.begin())) + (at != splits.end() && *at == x);
}

TEST(SplitKeys, CountTheSplitsBelowEachValue) {
  constexpr std::int64_t kRows = 8 + 8 + 5, kColumns = 3;
  const std::int64_t counts[] = {1, 2, 3, 4, 5, 8, 12, kRows};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Isa isa : isas_to_test()) {
    for (const std::int64_t num_splits : {0, 1, 2, 3, 8, 100, 511}) {
      std::vector<double> splits;
      for (std::int64_t i = 0; i < num_splits; ++i) {
        splits.push_back(static_cast<double>(i - num_splits / 2) / 10);  // most are no f32
      }
      const std::vector<float> noise = random_floats(kRows * kColumns, 1);
      std::vector<double> x(noise.begin(), noise.end());
      for (double& value : x) value *= static_cast<double>(num_splits) / 10;
      x[0] = NAN;
      x[3] = kInfinity;
      x[6] = -kInfinity;
      if (num_splits > 0) {
        x[9] = splits.front();
        x[12] = splits.back();
        x[60] = std::nextafter(splits.back(), 0);
      }
      for (const std::int64_t rows : counts) {
        std::vector<std::int32_t> keys(2 * kRows, -7);
        SLUICE_CPU_PICK(isa, split_keys)
        (splits.data(), num_splits, x.data(), kColumns, rows, keys.data(), 2);
        for (std::int64_t r = 0; r < kRows; ++r) {
          const auto at = static_cast<std::size_t>(r);
          const std::int32_t wanted = r < rows ? plain_key(splits, x[3 * at]) : -7;
          ASSERT_EQ(keys[2 * at], wanted) << num_splits << " splits, row " << r << " of " << rows;
          ASSERT_EQ(keys[2 * at + 1], -7);
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
