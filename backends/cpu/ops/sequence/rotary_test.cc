#include <gtest/gtest.h>

#include <vector>

#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Longs = std::vector<std::int64_t>;

struct RotaryCase {
  std::int64_t size = 64;
  std::int64_t turned = 0;
  std::int64_t interleaved = 0;
  bool has_heads_first = true;
  bool has_positions = true;
};

void expect_rotary(const RotaryCase& c) {
  constexpr std::int64_t kBatch = 2, kHeads = 3, kLength = 5, kRows = 11;
  const std::int64_t half = (c.turned > 0 ? c.turned : c.size) / 2;
  const Shape x = c.has_heads_first ? Shape{kBatch, kHeads, kLength, c.size}
                                    : Shape{kBatch, kLength, kHeads * c.size};
  expect_agreement(
      [&](TestOp& op) {
        op.input(x, random_floats(kBatch * kHeads * kLength * c.size, 1));
        const Shape cache = c.has_positions ? Shape{kRows, half} : Shape{kBatch, kLength, half};
        const std::int64_t rows = c.has_positions ? kRows : kBatch * kLength;
        op.input(cache, random_floats(rows * half, 2)).input(cache, random_floats(rows * half, 3));
        if (c.has_positions) {
          op.input<std::int64_t>({kBatch, kLength}, Longs{0, 1, 2, 3, 4, 10, 9, 8, 7, 0});
        }
        op.output(x).attribute("interleaved", c.interleaved);
        op.attribute("rotary_embedding_dim", c.turned);
        if (!c.has_heads_first) op.attribute("num_heads", kHeads);
      },
      {.kind = "RotaryEmbedding", .version = 23});
}

TEST(CpuRotary, AgreesForEveryFormAndSize) {
  for (const std::int64_t interleaved : {0, 1}) {
    for (const bool has_heads_first : {true, false}) {
      for (const bool has_positions : {true, false}) {
        expect_rotary({64, 0, interleaved, has_heads_first, has_positions});
        expect_rotary({38, 0, interleaved, has_heads_first, has_positions});
        expect_rotary({40, 6, interleaved, has_heads_first, has_positions});
      }
    }
  }
}

TEST(CpuRotary, RefusesPositionsOutsideTheCache) {
  for (const Backend& backend : backends_to_test()) {
    for (const std::int64_t position : {-1, 4}) {
      TestOp op("RotaryEmbedding", "", 23);
      op.input({1, 1, 2, 4}, random_floats(8, 1)).input({4, 2}, random_floats(8, 2));
      op.input({4, 2}, random_floats(8, 3)).input({1, 2}, Longs{0, position}).output({1, 1, 2, 4});
      EXPECT_FALSE(op.run(backend, 2).is_ok()) << position;
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
