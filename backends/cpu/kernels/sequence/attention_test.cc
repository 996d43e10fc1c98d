#include "kernels/sequence/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "testing/test_isas.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

struct Case {
  std::int64_t batch, heads, kv_heads, queries, keys, head_size, value_size;
  bool transposed_keys, token_major, causal, masked;
  bool chosen = false;  ///< some scores are a number
};

const Case kCases[] = {
    {2, 3, 3, 13, 13, 64, 64, false, true, false, true},
    {1, 2, 2, 128, 128, 64, 64, false, true, false, false},
    {1, 4, 2, 7, 70, 32, 48, true, false, false, true},
    {2, 2, 1, 1, 257, 64, 64, false, false, false, true},
    {1, 2, 2, 2, 33, 20, 10, false, false, true, false},
    {1, 1, 1, 150, 300, 16, 17, false, false, true, false},
    {1, 1, 1, 3, 5, 3, 2, true, false, false, false},
    {2, 3, 3, 13, 13, 64, 64, false, true, false, true, true},
    {1, 4, 2, 7, 70, 32, 48, true, false, false, false, true},
    {2, 2, 1, 1, 257, 64, 64, false, false, false, false, true},
};

/// [batch][head][row][size], or [batch][row][head][size] when token-major.
AttentionStrides strides(bool token_major, std::int64_t heads, std::int64_t rows,
                         std::int64_t size) {
  if (token_major) return {rows * heads * size, size, heads * size, 1};
  return {heads * rows * size, rows * size, size, 1};
}

AttentionPlan make_plan(const Case& c) {
  AttentionPlan p;
  p.batch = c.batch;
  p.heads = c.heads;
  p.kv_heads = c.kv_heads;
  p.queries = c.queries;
  p.keys = c.keys;
  p.head_size = c.head_size;
  p.value_size = c.value_size;
  p.q = strides(c.token_major, c.heads, c.queries, c.head_size);
  p.k = strides(c.token_major, c.kv_heads, c.keys, c.head_size);
  if (c.transposed_keys) {
    p.k.row = 1;
    p.k.step = c.keys;
  }
  p.v = strides(c.token_major, c.kv_heads, c.keys, c.value_size);
  p.out = strides(c.token_major, c.heads, c.queries, c.value_size);
  p.mask = {c.queries * c.keys, 0, c.keys, 1};
  p.keep = p.mask;
  p.hidden = -0.7f;
  p.scale = 0.3f;
  p.causal = c.causal;
  p.past = c.keys - c.queries;
  return p;
}

/// One output vector by the definition.
std::vector<double> expected(const AttentionPlan& p, const AttentionArgs& a, std::int64_t b,
                             std::int64_t h, std::int64_t i) {
  const std::int64_t kv = h / (p.heads / p.kv_heads);
  const std::int64_t seen = p.causal ? i + p.past + 1 : p.keys;
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t j = 0; j < seen; ++j) {
    double s = 0;
    for (std::int64_t d = 0; d < p.head_size; ++d) {
      s += double{a.q[b * p.q.batch + h * p.q.head + i * p.q.row + d]} *
           a.k[b * p.k.batch + kv * p.k.head + j * p.k.row + d * p.k.step];
    }
    s *= p.scale;
    if (a.keep != nullptr && a.keep[b * p.keep.batch + i * p.keep.row + j] == 0) s = p.hidden;
    if (a.mask != nullptr) s += a.mask[b * p.mask.batch + i * p.mask.row + j];
    weights.push_back(std::exp(s));
    sum += weights.back();
  }
  std::vector<double> out(static_cast<std::size_t>(p.value_size));
  for (std::int64_t j = 0; j < seen; ++j) {
    for (std::size_t d = 0; d < out.size(); ++d) {
      out[d] += weights[static_cast<std::size_t>(j)] / sum *
                a.v[b * p.v.batch + kv * p.v.head + j * p.v.row + static_cast<std::int64_t>(d)];
    }
  }
  return out;
}

TEST(Attention, MatchesTheDefinition) {
  for (const Isa isa : isas_to_test()) {
    for (const Case& c : kCases) {
      const AttentionPlan p = make_plan(c);
      const auto q = random_floats(c.batch * c.heads * c.queries * c.head_size, 1);
      const auto k = random_floats(c.batch * c.kv_heads * c.keys * c.head_size, 2);
      const auto v = random_floats(c.batch * c.kv_heads * c.keys * c.value_size, 3);
      auto mask = random_floats(c.batch * c.queries * c.keys, 4);
      for (std::size_t i = 1; i < mask.size(); i += 3) mask[i] = -INFINITY;
      std::vector<float> out(static_cast<std::size_t>(c.batch * c.heads * c.queries * c.value_size),
                             -9);
      std::vector<std::uint8_t> keep(mask.size());
      for (std::size_t i = 0; i < keep.size(); ++i) keep[i] = i * 7 % 5 < 3 ? 1 : 0;
      const AttentionArgs args{q.data(),   k.data(),
                               v.data(),   c.masked ? mask.data() : nullptr,
                               out.data(), c.chosen ? keep.data() : nullptr};
      for (const int workers : {1, 2, 5}) {
        std::fill(out.begin(), out.end(), -9.0f);
        for_each_worker(workers, SLUICE_CPU_PICK(isa, attention_scratch_bytes)(p),
                        [&](const Worker& w) {
                          SLUICE_CPU_PICK(isa, run_attention)
                          (p, args, w);
                        });
        for (std::int64_t b = 0; b < c.batch; ++b) {
          for (std::int64_t h = 0; h < c.heads; ++h) {
            for (std::int64_t i = 0; i < c.queries; ++i) {
              const std::vector<double> want = expected(p, args, b, h, i);
              const float* got = out.data() + b * p.out.batch + h * p.out.head + i * p.out.row;
              for (std::size_t d = 0; d < want.size(); ++d) {
                ASSERT_NEAR(got[d], want[d], 2e-6)
                    << isa_name(isa) << " case " << &c - kCases << " at " << b << "," << h << ","
                    << i << "," << d;
              }
            }
          }
        }
      }
    }
  }
}

/// Exporters mask with the lowest float; a query whose keys are all padding sees them all alike.
TEST(Attention, QueryWithAllKeysMaskedByLowestNumberTakesTheMean) {
  const AttentionPlan p = make_plan({1, 1, 1, 3, 37, 16, 16, false, false, false, true});
  const auto q = random_floats(3 * 16, 1);
  const auto k = random_floats(37 * 16, 2);
  const std::vector<float> v(37 * 16, 5);
  const std::vector<float> mask(3 * 37, std::numeric_limits<float>::lowest());
  for (const Isa isa : isas_to_test()) {
    std::vector<float> out(3 * 16, -9);
    const AttentionArgs args{q.data(), k.data(), v.data(), mask.data(), out.data()};
    for_each_worker(1, SLUICE_CPU_PICK(isa, attention_scratch_bytes)(p), [&](const Worker& w) {
      SLUICE_CPU_PICK(isa, run_attention)(p, args, w);
    });
    for (const float x : out) ASSERT_NEAR(x, 5, 1e-5) << isa_name(isa);
  }
}

/// Three queries of value 5 and 37 keys; mask and keep for the second one.
struct HiddenRow {
  std::vector<float> mask = std::vector<float>(37, 0);
  std::vector<std::uint8_t> keep = std::vector<std::uint8_t>(37, 1);
  float hidden = 0;
  ZeroRows zero_rows = ZeroRows::kNone;

  /// The second query's first result; the others are checked.
  float run(Isa isa) const {
    AttentionPlan p = make_plan({1, 1, 1, 3, 37, 16, 16, false, false, false, true});
    p.hidden = hidden;
    p.zero_rows = zero_rows;
    const auto q = random_floats(3 * 16, 1);
    const auto k = random_floats(37 * 16, 2);
    const std::vector<float> v(37 * 16, 5);
    std::vector<float> masks(3 * 37, 0);
    std::vector<std::uint8_t> keeps(3 * 37, 1);
    std::copy(mask.begin(), mask.end(), masks.begin() + 37);
    std::copy(keep.begin(), keep.end(), keeps.begin() + 37);
    std::vector<float> out(3 * 16, -9);
    const AttentionArgs args{q.data(), k.data(), v.data(), masks.data(), out.data(), keeps.data()};
    for_each_worker(1, SLUICE_CPU_PICK(isa, attention_scratch_bytes)(p), [&](const Worker& w) {
      SLUICE_CPU_PICK(isa, run_attention)(p, args, w);
    });
    EXPECT_NEAR(out.front(), 5, 1e-5) << isa_name(isa);
    EXPECT_NEAR(out.back(), 5, 1e-5) << isa_name(isa);
    return out[16];
  }
};

/// torch guards its softmax against such queries, and ONNX's Attention defines the zeros; a plain
/// softmax of them has no value.
TEST(Attention, QueryThatSeesNoKeyGivesZerosWhereTheseAreDefined) {
  for (const Isa isa : isas_to_test()) {
    HiddenRow row;
    row.mask.assign(37, -INFINITY);
    EXPECT_TRUE(std::isnan(row.run(isa))) << isa_name(isa);
    row.zero_rows = ZeroRows::kHidden;
    EXPECT_EQ(row.run(isa), 0) << isa_name(isa);
    row.zero_rows = ZeroRows::kNan;
    EXPECT_EQ(row.run(isa), 0) << isa_name(isa);
  }
}

TEST(Attention, ScoresWithoutASoftmaxAreZerosForTheGuardAlone) {
  for (const Isa isa : isas_to_test()) {
    for (const float bad : {NAN, INFINITY}) {
      for (const std::size_t at : {0, 20, 36}) {
        HiddenRow row;
        row.mask.assign(37, -INFINITY);
        row.mask[at] = bad;
        EXPECT_TRUE(std::isnan(row.run(isa))) << isa_name(isa);
        row.zero_rows = ZeroRows::kHidden;
        EXPECT_TRUE(std::isnan(row.run(isa))) << isa_name(isa);
        row.zero_rows = ZeroRows::kNan;
        EXPECT_EQ(row.run(isa), 0) << isa_name(isa);
      }
    }
  }
}

TEST(Attention, QueryWithAllScoresReplacedTakesTheMean) {
  for (const Isa isa : isas_to_test()) {
    for (const float hidden : {0.0F, -5.0F, -1e9F, std::numeric_limits<float>::lowest()}) {
      HiddenRow row;
      row.keep.assign(37, 0);
      row.hidden = hidden;
      EXPECT_NEAR(row.run(isa), 5, 1e-5) << isa_name(isa) << " " << hidden;
    }
    HiddenRow row;
    row.keep.assign(37, 0);
    row.hidden = -INFINITY;
    EXPECT_TRUE(std::isnan(row.run(isa))) << isa_name(isa);
    row.zero_rows = ZeroRows::kHidden;
    EXPECT_EQ(row.run(isa), 0) << isa_name(isa);
  }
}

}  // namespace
}  // namespace sluice::cpu
