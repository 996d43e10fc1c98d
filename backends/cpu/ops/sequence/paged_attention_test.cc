#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "kernels/convert/convert.h"
#include "kernels/sequence/round_rows.h"
#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Longs = std::vector<std::int64_t>;
constexpr std::int64_t kPlaces = 32;

/// Sequences in shuffled pages; places that no row sees hold NaN, pages that nobody has are 999.
struct Batch {
  std::int64_t heads = 1, kv_heads = 1, size = 8, v_size = 8;
  Longs lengths = {};             ///< of each sequence, with its new tokens
  Longs new_tokens = {};          ///< of each sequence: its last ones are rows
  std::int64_t shared_pages = 0;  ///< that the sequences have in common, at their start
  std::int64_t window = 0;
  float cap = 0;
  Storage storage = Storage::kF32;  ///< of pages

  std::int64_t blocks() const {
    return (*std::ranges::max_element(lengths) + kPlaces - 1) / kPlaces + 1;
  }
  Longs tables() const {
    Longs free;
    for (std::int64_t i = 0; i < pages(); ++i) free.push_back(i);
    std::shuffle(free.begin(), free.end(), std::mt19937(7));
    const Longs shared(free.end() - shared_pages, free.end());
    free.resize(free.size() - shared.size());
    Longs entries;
    for (const std::int64_t length : lengths) {
      for (std::int64_t i = 0; i < blocks(); ++i) {
        if (i * kPlaces >= length) {
          entries.push_back(999);
        } else if (i < shared_pages) {
          entries.push_back(shared[static_cast<std::size_t>(i)]);
        } else {
          entries.push_back(free.back());
          free.pop_back();
        }
      }
    }
    return entries;
  }
  std::int64_t pages() const { return blocks() * std::ssize(lengths) + shared_pages; }
  std::vector<float> pool(std::int64_t row, unsigned seed) const {
    std::vector<float> values = random_floats(pages() * kv_heads * kPlaces * row, seed);
    std::vector<bool> is_seen(static_cast<std::size_t>(pages() * kPlaces));
    const Longs entries = tables();
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      for (std::int64_t p = 0; p < lengths[s]; ++p) {
        const std::int64_t page =
            entries[s * static_cast<std::size_t>(blocks()) + static_cast<std::size_t>(p / kPlaces)];
        is_seen[static_cast<std::size_t>(page * kPlaces + p % kPlaces)] = true;
      }
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto line = i / static_cast<std::size_t>(row);
      const auto page = line / static_cast<std::size_t>(kPlaces * kv_heads);
      if (!is_seen[page * kPlaces + line % kPlaces]) values[i] = NAN;
    }
    return values;
  }
  void add_pool(TestOp& op, std::int64_t row, unsigned seed) const {
    const std::vector<float> values = pool(row, seed);
    if (storage == Storage::kF32) return void(op.input({pages(), kv_heads, kPlaces, row}, values));
    if (storage == Storage::kI8) {
      const std::int64_t bytes = row + kScaleBytes;
      std::vector<std::int8_t> rounded;
      for (std::int64_t at = 0; at < std::ssize(values); at += row) {
        rounded.resize(rounded.size() + static_cast<std::size_t>(bytes));
        portable::round_row(values.data() + at, row, rounded.data() + rounded.size() - bytes);
      }
      return void(op.input({pages(), kv_heads, kPlaces, bytes}, rounded));
    }
    std::vector<std::uint16_t> halves(values.size());
    portable::from_floats(Storage::kF16, values.data(), std::ssize(values), halves.data());
    op.input({pages(), kv_heads, kPlaces, row}, halves);
    op.set_input_type(static_cast<std::size_t>(op.op().num_inputs - 1), plugin::kF16);
  }
  void fill(TestOp& op) const {
    Longs positions, sequences;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      for (std::int64_t i = 0; i < new_tokens[s]; ++i) {
        positions.push_back(lengths[s] - new_tokens[s] + i);
        sequences.push_back(static_cast<std::int64_t>(s));
      }
    }
    const std::int64_t rows = std::ssize(positions);
    op.input({rows, heads * size}, random_floats(rows * heads * size, 1));
    add_pool(op, size, 2);
    add_pool(op, v_size, 3);
    op.input<std::int64_t>({rows}, positions).input<std::int64_t>({rows}, sequences);
    op.input<std::int64_t>({std::ssize(lengths), blocks()}, tables());
    op.output({rows, heads * v_size}).attribute("window", window);
    op.attribute("softcap", cap);
  }
};

void expect_paged(Batch batch) {
  for (const Storage storage : {Storage::kF32, Storage::kF16, Storage::kI8}) {
    batch.storage = storage;
    expect_agreement([&](TestOp& op) { batch.fill(op); },
                     {.kind = "PagedAttention", .version = 1, .domain = "sluice"});
  }
}

TEST(CpuPagedAttention, AgreesForOneTokenOfSequencesOfManyLengths) {
  const Longs one(6, 1);
  for (const std::int64_t size : {64, 40, 7}) {
    expect_paged({9, 3, size, size, {1, 31, 32, 33, 100, 64}, one});
    expect_paged({4, 4, size, size + 3, {1, 31, 32, 33, 100, 64}, one});
    expect_paged({10, 2, size, size, {1, 31, 32, 33, 100, 64}, one});
    expect_paged({71, 1, size, 16, {1, 31, 32, 33, 100, 64}, one});
  }
}

TEST(CpuPagedAttention, AgreesForPromptsBesideSingleTokens) {
  for (const std::int64_t size : {64, 10}) {
    expect_paged({4, 2, size, size, {70, 5, 130, 64}, {1, 5, 90, 64}});
    expect_paged({2, 1, size, 2 * size, {200, 33}, {200, 2}});
  }
}

TEST(CpuPagedAttention, AgreesForSharedPagesAndWindows) {
  expect_paged({4, 2, 16, 16, {100, 70, 64}, {1, 3, 1}, 2});
  for (const std::int64_t window : {1, 31, 32, 40, 1000}) {
    expect_paged({4, 2, 16, 16, {100, 33, 1}, {20, 1, 1}, 0, window});
  }
}

TEST(CpuPagedAttention, AgreesForScoresWithACap) {
  for (const std::int64_t size : {64, 7}) {
    Batch batch = {9, 3, size, size, {1, 33, 100, 40}, {1, 1, 1, 40}};
    batch.cap = 1.5F;
    expect_paged(batch);
  }
}

TEST(CpuPagedAttention, GivesWhatTheReferenceGivesForInfiniteScores) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const auto& [key, other] : {std::pair{-inf, -inf}, {-inf, 1.0F}, {inf, 1.0F}, {NAN, 1.0F}}) {
    expect_agreement(
        [&, key = key, other = other](TestOp& op) {
          std::vector<float> keys(64, key);
          keys[40] = other;
          op.input({1, 2}, {1, 1}).input({2, 1, 32, 1}, keys);
          op.input({2, 1, 32, 1}, random_floats(64, 3)).input<std::int64_t>({1}, {40});
          op.input<std::int64_t>({1}, {0}).input<std::int64_t>({1, 2}, {0, 1}).output({1, 2});
        },
        {.kind = "PagedAttention", .version = 1, .domain = "sluice"});
  }
}

TEST(CpuPagedAttention, RefusesNumbersOutOfRangeBeforeItReadsPages) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const struct {
    std::int64_t position, sequence;
    Longs table;
    bool is_right;
  } cases[] = {
      {63, 1, {9, 9, 0, 1}, true},     {64, 1, {9, 9, 0, 1}, false},  {-1, 1, {9, 9, 0, 1}, false},
      {most, 1, {0, 0, 0, 0}, false},  {63, 2, {0, 0, 0, 0}, false},  {63, -1, {0, 0, 0, 0}, false},
      {63, 1, {9, 9, 0, 2}, false},    {63, 1, {9, 9, -1, 0}, false}, {31, 1, {9, 9, 0, 2}, true},
      {63, 1, {9, 9, 0, most}, false},
  };
  for (const Backend& backend : backends_to_test()) {
    for (const auto& c : cases) {
      TestOp op("PagedAttention", "sluice", 1);
      op.input({2, 4}, random_floats(8, 1)).input({2, 1, 32, 4}, random_floats(256, 2));
      op.input({2, 1, 32, 4}, random_floats(256, 3)).input<std::int64_t>({2}, {0, c.position});
      op.input<std::int64_t>({2}, {1, c.sequence}).input<std::int64_t>({2, 2}, c.table);
      op.output({2, 4});
      const Status status = op.run(backend, 2);
      EXPECT_EQ(status.code, c.is_right ? SLUICE_OK : SLUICE_OUT_OF_RANGE) << status.text;
    }
  }
}

TEST(CpuPagedAttention, LeavesPagesOfUnlikeTypesToTheReference) {
  TestOp op("PagedAttention", "sluice", 1);
  op.input({1, 4}, random_floats(4, 1)).input({1, 1, 32, 4}, random_floats(128, 2));
  op.input<std::uint16_t>({1, 1, 32, 4}, std::vector<std::uint16_t>(128, 0x3c00));
  op.set_input_type(2, plugin::kF16).input<std::int64_t>({1}, {0}).input<std::int64_t>({1}, {0});
  op.input<std::int64_t>({1, 1}, {0}).output({1, 4});
  EXPECT_EQ(op.run(Backend(), 1).code, SLUICE_UNIMPLEMENTED);
}

TEST(CpuPagedAttention, LeavesNothingToDoWithoutRows) {
  TestOp op("PagedAttention", "sluice", 1);
  op.input({0, 4}, {}).input({0, 1, 32, 4}, {}).input({0, 1, 32, 4}, {});
  op.input<std::int64_t>({0}, {}).input<std::int64_t>({0}, {}).input<std::int64_t>({0, 0}, {});
  EXPECT_TRUE(op.output({0, 4}).run(Backend(), 2).is_ok());
}

void expect_rounded(const Shape& dims, const std::vector<float>& values) {
  Shape wider = dims;
  wider.back() += kScaleBytes;
  expect_agreement([&](TestOp& op) { op.input(dims, values).output<std::int8_t>(wider); },
                   {.kind = "RoundRows", .version = 1, .domain = "sluice", .float_outputs = {}});
}

TEST(CpuRoundRows, AgreesInEveryByte) {
  for (const std::int64_t size : {1, 7, 16, 40, 64, 128}) {
    std::vector<float> values = random_floats(12 * size, 5);
    for (std::size_t i = 0; i < values.size(); i += 3) values[i] *= 1000;
    expect_rounded({3, 4, size}, values);
  }
}

TEST(CpuRoundRows, AgreesAtTheEndsOfTheRange) {
  const float most = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::min();
  const float inf = std::numeric_limits<float>::infinity();
  for (const float x : {0.0F, -0.0F, most, -most, least, 127 * least, 1e-42F, inf, -inf, NAN}) {
    std::vector<float> values(3 * 33, 0.5F * least);
    values[40] = x;
    expect_rounded({3, 33}, values);
  }
}

TEST(CpuRoundRows, AgreesForTies) {
  std::vector<float> values;
  for (int i = -127; i < 127; ++i) values.push_back(static_cast<float>(i) + 0.5F);
  values.push_back(127);
  expect_rounded({1, 255}, values);
}

}  // namespace
}  // namespace sluice::cpu
