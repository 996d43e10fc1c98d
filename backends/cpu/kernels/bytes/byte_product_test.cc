#include "kernels/bytes/byte_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/matrix/byte_matrix.h"
#include "testing/test_isas.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

const ProductShape kShapes[] = {{1, 1, 1},     {1, 200, 33},   {2, 64, 7},     {3, 65, 40},
                                {4, 130, 17},  {7, 64, 300},   {13, 100, 65},  {30, 31, 29},
                                {128, 96, 50}, {250, 20, 800}, {64, 192, 900}, {700, 70, 600}};

/// `x` after rounding with the largest magnitude `most` of its row or column.
double rounded(float x, float most) {
  return most == 0 ? 0 : std::nearbyint(x * (127 / most)) * (static_cast<double>(most) / 127);
}

struct Case {
  explicit Case(const ProductShape& shape)
      : s(shape),
        a(random_floats(s.m * s.k, 1)),
        b(random_floats(s.k * s.n, 2)),
        bias(random_floats(s.n, 3)) {}

  float most_of_row(std::int64_t i) const {
    float most = 0;
    for (std::int64_t p = 0; p < s.k; ++p) most = std::max(most, std::fabs(a[index(i, p, s.k)]));
    return most;
  }
  float most_of_column(std::int64_t j) const {
    float most = 0;
    for (std::int64_t p = 0; p < s.k; ++p) most = std::max(most, std::fabs(b[index(p, j, s.n)]));
    return most;
  }
  /// The product of rounded rows and columns.
  std::vector<float> expected() const {
    std::vector<float> c;
    std::vector<float> columns;
    for (std::int64_t j = 0; j < s.n; ++j) columns.push_back(most_of_column(j));
    for (std::int64_t i = 0; i < s.m; ++i) {
      const float row = most_of_row(i);
      for (std::int64_t j = 0; j < s.n; ++j) {
        double sum = bias[static_cast<std::size_t>(j)];
        for (std::int64_t p = 0; p < s.k; ++p) {
          sum += rounded(a[index(i, p, s.k)], row) *
                 rounded(b[index(p, j, s.n)], columns[static_cast<std::size_t>(j)]);
        }
        c.push_back(static_cast<float>(sum));
      }
    }
    return c;
  }
  static std::size_t index(std::int64_t row, std::int64_t column, std::int64_t width) {
    return static_cast<std::size_t>(row * width + column);
  }

  ProductShape s;
  std::vector<float> a, b, bias;
};

std::vector<float> product(const Case& c, Isa isa, int workers) {
  GemmPlan plan;
  plan.m = c.s.m;
  plan.n = c.s.n;
  plan.k = c.s.k;
  plan.a_row = c.s.k;
  plan.c_row = c.s.n;
  const ByteProduct bytes(plan, isa);
  std::vector<std::byte> packed(static_cast<std::size_t>(bytes.panels().bytes()));
  pack_byte_panels(bytes.panels(), c.b.data(), c.s.n, 1, 1, packed.data());
  std::vector<float> result(static_cast<std::size_t>(c.s.m * c.s.n), -99);
  std::vector<std::byte> shared(static_cast<std::size_t>(bytes.shared_bytes()));
  GemmArgs args;
  args.a = c.a.data();
  args.c = result.data();
  args.bias = c.bias.data();
  const auto narrow =
      find_narrow_panels(bytes.panels(), packed.data(), bytes.panels().count(), isa);
  for_each_worker(workers, 0, [&](const Worker& w) { bytes.round(args, shared.data(), w); });
  for_each_worker(workers, 0, [&](const Worker& w) {
    bytes.multiply(args, packed.data(), narrow.data(), shared.data(), w);
  });
  return result;
}

TEST(ByteProduct, IsExactlyThatOfRoundedRowsAndColumns) {
  for (const ProductShape& s : kShapes) {
    const Case c(s);
    const std::vector<float> expected = c.expected();
    for (const Isa isa : isas_to_test()) {
      for (const int workers : {1, 3}) {
        const std::vector<float> got = product(c, isa, workers);
        for (std::size_t i = 0; i < got.size(); ++i) {
          ASSERT_NEAR(got[i], expected[i], 1e-5 * (1 + std::fabs(expected[i])))
              << isa_name(isa) << " " << s.m << "x" << s.n << "x" << s.k << " at " << i;
        }
      }
    }
  }
}

TEST(ByteProduct, IsTheSameOnEveryInstructionSet) {
  const Case c({20, 70, 500});
  const std::vector<float> first = product(c, Isa::kPortable, 1);
  for (const Isa isa : isas_to_test()) {
    const std::vector<float> got = product(c, isa, 2);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], first[i], 1e-6 * (1 + std::fabs(first[i]))) << isa_name(isa);
    }
  }
}

/// A row times the columns of a panel, all with scales of 1 and no corrections.
template <typename Multiply>
std::vector<float> product_of_row(const std::vector<std::uint8_t>& a,
                                  const std::vector<std::int8_t>& b, Multiply multiply) {
  const std::size_t width = b.size() / a.size();
  const std::vector<float> ones(width, 1);
  const std::vector<std::int32_t> zeros(width);
  std::vector<float> result(width);
  ByteTile tile;
  tile.a = a.data();
  tile.a_row = static_cast<std::int64_t>(a.size());
  tile.b = b.data();
  tile.groups = tile.a_row / kByteGroup;
  tile.row_scales = ones.data();
  tile.column_scales = ones.data();
  tile.corrections = zeros.data();
  tile.columns = static_cast<std::int64_t>(width);
  tile.c = result.data();
  multiply(tile);
  return result;
}

TEST(ByteProduct, InstructionSetExtensionGivesEqualSums) {
  const ByteTileSet& fast = byte_tiles(active_isa());
  const ByteTileSet& plain = *SLUICE_CPU_PICK(active_isa(), kByteTiles);
  ASSERT_EQ(fast.width, plain.width);
  constexpr std::int64_t kDepth = 24;
  const auto width = static_cast<std::size_t>(fast.width);
  std::vector<std::uint8_t> a(kDepth);
  std::vector<std::int8_t> b(kDepth * width);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint8_t>(i % 3 == 0 ? 255 : i);
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<std::int8_t>(i % 5 == 0 ? -128 : i % 128);
  EXPECT_EQ(product_of_row(a, b, fast.find(1, fast.width, false)),
            product_of_row(a, b, plain.find(1, fast.width, false)));
}

/// The sum of the products of one column.
std::int32_t column_sum(const std::vector<std::uint8_t>& a, const std::vector<std::int8_t>& b,
                        std::size_t width, std::size_t column) {
  std::int32_t sum = 0;
  for (std::size_t p = 0; p < a.size(); ++p) {
    const std::size_t at = (p / kByteGroup * width + column) * kByteGroup + p % kByteGroup;
    sum += a[p] * b[at];
  }
  return sum;
}

TEST(ByteProduct, NarrowPanelsGiveExactSumsAtTheirLimit) {
  constexpr std::size_t kDepth = 20;
  for (const Isa isa : isas_to_test()) {
    const ByteTileSet& set = byte_tiles(isa);
    const auto width = static_cast<std::size_t>(set.width);
    const std::vector<std::uint8_t> a(kDepth, 255);
    std::vector<std::int8_t> b(kDepth * width);
    for (std::size_t i = 0; i < b.size(); ++i) {
      constexpr std::int8_t kPairs[] = {127, 1, -64, -64, 64, 64, -128, 0, 100, -28};
      b[i] = kPairs[i % std::size(kPairs)];
    }
    const auto is_narrow = SLUICE_CPU_PICK(isa, is_narrow_panel);
    ASSERT_TRUE(is_narrow(b.data(), static_cast<std::int64_t>(b.size())));
    const std::vector<float> result = product_of_row(a, b, set.find(1, set.width, true));
    for (std::size_t j = 0; j < width; ++j) {
      EXPECT_EQ(result[j], static_cast<float>(column_sum(a, b, width, j))) << isa_name(isa);
    }
    b[5] = -65;
    EXPECT_FALSE(is_narrow(b.data(), static_cast<std::int64_t>(b.size()))) << isa_name(isa);
  }
}

TEST(ByteProduct, SmallWeightsAreMultipliedExactly) {
  Case c({13, 100, 65});
  // The first number of a column is its largest, and by itself in its pair.
  for (std::int64_t i = 0; i < c.s.k * c.s.n; ++i) {
    float& b = c.b[static_cast<std::size_t>(i)];
    b = i < c.s.n ? 1 : i < 2 * c.s.n ? 0 : b / 2.1F;
  }
  const std::vector<float> expected = c.expected();
  for (const Isa isa : isas_to_test()) {
    const std::vector<float> got = product(c, isa, 2);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], expected[i], 1e-5 * (1 + std::fabs(expected[i]))) << isa_name(isa);
    }
  }
}

TEST(ByteProduct, NonFiniteRowsGiveNanInTheirOwnRowOnly) {
  for (const float wrong : {NAN, INFINITY, -INFINITY}) {
    Case c({3, 5, 20});
    c.a[25] = wrong;
    for (const Isa isa : isas_to_test()) {
      const std::vector<float> got = product(c, isa, 1);
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(std::isnan(got[i]), i / 5 == 1) << isa_name(isa) << " " << wrong << " at " << i;
      }
    }
  }
}

TEST(ByteProduct, RowsNearTheLargestFloatAreRoundedToo) {
  Case c({3, 40, 20});
  c.a[45] = 3.2e38F;
  c.a[25] = -std::numeric_limits<float>::max();
  for (std::size_t i = 0; i < c.b.size(); ++i) c.b[i] *= 0.01F;
  const std::vector<float> want = c.expected();
  for (const Isa isa : isas_to_test()) {
    const std::vector<float> got = product(c, isa, 1);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], want[i], 1e-3F * (1 + std::fabs(want[i])))
          << isa_name(isa) << " at " << i;
    }
  }
}

TEST(ByteProduct, ZerosGiveTheBias) {
  Case c({2, 9, 12});
  std::fill(c.a.begin(), c.a.end(), 0.0F);
  for (const Isa isa : isas_to_test()) {
    const std::vector<float> got = product(c, isa, 1);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], c.bias[i % 9]) << isa_name(isa);
  }
}

}  // namespace
}  // namespace sluice::cpu
