// Kernels of attention on emulated devices, against sums in double.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugin/libraries/testing/emulated_device.h"
#include "plugin/libraries/testing/run_op.h"
#include "plugin/libraries/testing/test_op.h"

namespace sluice::cuda {
namespace {

using testing::TestOp;
using Values = std::vector<float>;

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Attention of heads, each tensor packed or not.
struct Case {
  std::int64_t batch = 1, heads = 2, kv_heads = 2, queries = 5, keys = 7, size = 8, value_size = 8;
  sluice_element_type type = plugin::kF16;
  std::int64_t past = 0;
  bool packs_q = false, packs_k = false, packs_v = false, packs_y = false;
  bool is_causal = false;
  std::vector<std::int64_t> mask = {}, keep = {};  ///< dims; empty: none
  float hidden = -std::numeric_limits<float>::infinity();
  int zero_rows = 1;
  int capability = 80;
  Confine confine = Confine::kNothing;
};

std::string name_of(const Case& c) {
  return std::to_string(c.batch) + " x " + std::to_string(c.heads) + "/" +
         std::to_string(c.kv_heads) + " x " + std::to_string(c.queries) + "/" +
         std::to_string(c.keys) + " x " + std::to_string(c.size) + "/" +
         std::to_string(c.value_size) + ", type " + std::to_string(c.type) + ", past " +
         std::to_string(c.past) + (c.is_causal ? ", causal" : "") + ", sm_" +
         std::to_string(c.capability);
}

std::vector<std::int64_t> dims_of(bool is_packed, std::int64_t batch, std::int64_t heads,
                                  std::int64_t length, std::int64_t size) {
  if (is_packed) return {batch, length, heads * size};
  return {batch, heads, length, size};
}

std::size_t at(bool is_packed, const std::array<std::int64_t, 4>& dims, std::int64_t b,
               std::int64_t head, std::int64_t place, std::int64_t d) {
  const auto [batch, heads, length, size] = dims;
  return static_cast<std::size_t>(is_packed ? ((b * length + place) * heads + head) * size + d
                                            : ((b * heads + head) * length + place) * size + d);
}

/// An element of what is stretched to the scores.
double stretched(const Values& values, const std::vector<std::int64_t>& dims,
                 const std::array<std::int64_t, 4>& index) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t own = dims[i] == 1 ? 0 : index[i + 4 - dims.size()];
    found = found * static_cast<std::size_t>(dims[i]) + static_cast<std::size_t>(own);
  }
  return values[found];
}

class Attended {
 public:
  Attended(const Case& c, const std::vector<Values>& inputs) : c_(c), inputs_(inputs) {}

  std::vector<double> all() {
    std::vector<double> y(
        static_cast<std::size_t>(c_.batch * c_.heads * c_.queries * c_.value_size));
    const std::array dims = {c_.batch, c_.heads, c_.queries, c_.value_size};
    for (std::int64_t b = 0; b < c_.batch; ++b) {
      for (std::int64_t head = 0; head < c_.heads; ++head) {
        for (std::int64_t query = 0; query < c_.queries; ++query) {
          const std::vector<double> one = attend(b, head, query);
          for (std::int64_t d = 0; d < c_.value_size; ++d) {
            y[at(c_.packs_y, dims, b, head, query, d)] = one[static_cast<std::size_t>(d)];
          }
        }
      }
    }
    return y;
  }

 private:
  double element(bool is_value, std::int64_t b, std::int64_t kv, std::int64_t j, std::int64_t d) {
    const std::int64_t size = is_value ? c_.value_size : c_.size;
    if (j < c_.past) {
      return inputs_[is_value ? 5 : 4]
                    [at(false, {c_.batch, c_.kv_heads, c_.past, size}, b, kv, j, d)];
    }
    return inputs_[is_value ? 2 : 1]
                  [at(is_value ? c_.packs_v : c_.packs_k, {c_.batch, c_.kv_heads, c_.keys, size}, b,
                      kv, j - c_.past, d)];
  }

  double score(std::int64_t b, std::int64_t head, std::int64_t query, std::int64_t j,
               bool* is_seen) {
    double s = 0;
    for (std::int64_t d = 0; d < c_.size; ++d) {
      s += double{inputs_[0][at(c_.packs_q, {c_.batch, c_.heads, c_.queries, c_.size}, b, head,
                                query, d)]} *
           element(false, b, head / (c_.heads / c_.kv_heads), j, d);
    }
    s /= std::sqrt(static_cast<double>(c_.size));
    *is_seen = true;
    if (!c_.keep.empty() && stretched(inputs_[6], c_.keep, {b, head, query, j}) == 0) {
      s = c_.hidden;
      *is_seen = !std::isinf(c_.hidden);
    }
    if (!c_.mask.empty()) s += stretched(inputs_[3], c_.mask, {b, head, query, j});
    if (c_.is_causal && j > c_.past + query) {
      s = kNever;
      *is_seen = false;
    }
    return s;
  }

  std::vector<double> attend(std::int64_t b, std::int64_t head, std::int64_t query) {
    std::vector<double> scores;
    bool sees_any = false;
    for (std::int64_t j = 0; j < c_.past + c_.keys; ++j) {
      bool is_seen = false;
      scores.push_back(score(b, head, query, j, &is_seen));
      sees_any = sees_any || is_seen;
    }
    std::vector<double> y(static_cast<std::size_t>(c_.value_size));
    if (!sees_any && c_.zero_rows == 0) std::ranges::fill(y, std::nan(""));
    if (!sees_any) return y;
    const double most = std::ranges::max(scores);
    double total = 0;
    for (double& s : scores) total += s = std::exp(s - most);
    for (std::int64_t d = 0; d < c_.value_size; ++d) {
      for (std::int64_t j = 0; j < c_.past + c_.keys; ++j) {
        y[static_cast<std::size_t>(d)] += scores[static_cast<std::size_t>(j)] / total *
                                          element(true, b, head / (c_.heads / c_.kv_heads), j, d);
      }
    }
    return y;
  }

  const Case& c_;
  const std::vector<Values>& inputs_;
};

void describe(const Case& c, TestOp& op) {
  op.domain("sluice");
  op.input(dims_of(c.packs_q, c.batch, c.heads, c.queries, c.size));
  op.input(dims_of(c.packs_k, c.batch, c.kv_heads, c.keys, c.size));
  op.input(dims_of(c.packs_v, c.batch, c.kv_heads, c.keys, c.value_size));
  c.mask.empty() ? op.absent_input() : op.input(c.mask);
  for (const std::int64_t size : {c.size, c.value_size}) {
    c.past == 0 ? op.absent_input() : op.input({c.batch, c.kv_heads, c.past, size});
  }
  c.keep.empty() ? op.absent_input() : op.input(c.keep, plugin::kBool);
  op.output(dims_of(c.packs_y, c.batch, c.heads, c.queries, c.value_size));
  op.set_int("q_num_heads", c.heads).set_int("kv_num_heads", c.kv_heads);
  op.set_int("packed_result", c.packs_y ? 1 : 0).set_int("is_causal", c.is_causal ? 1 : 0);
  op.set_int("zero_rows", c.zero_rows).set_float("hidden", c.hidden);
}

/// Some numbers; three of four bools are true.
std::vector<Values> inputs_of(const sluice_op& op) {
  std::vector<Values> inputs;
  for (const sluice_operand& operand : plugin::inputs_of(op)) {
    sluice_tensor numbers = operand.tensor;
    const bool is_bool = numbers.element_type == plugin::kBool;
    if (is_bool) numbers.element_type = plugin::kF32;
    inputs.emplace_back();
    if (plugin::is_absent(numbers)) continue;
    inputs.back() = testing::some_numbers(numbers, static_cast<unsigned>(inputs.size()));
    if (!is_bool) continue;
    for (float& value : inputs.back()) value = value > -0.5F ? 1 : 0;
  }
  return inputs;
}

double tolerance_of(const Case& c) {
  return c.type == plugin::kF16 ? 3e-3 : c.type == plugin::kBf16 ? 2e-2 : 1e-5;
}

void check(const Case& c) {
  SCOPED_TRACE(name_of(c));
  const testing::EmulatedDevice device(c.capability, c.confine);
  if (!device.has_compiler()) GTEST_SKIP() << "no compiler for CUDA";
  TestOp op("Attention", c.type);
  describe(c, op);
  const std::vector<Values> inputs = inputs_of(op.get());
  const auto result = testing::run_op(*device.backend, *device.group, op.get(), inputs);
  ASSERT_EQ(result.status.text, "");
  const std::vector<double> expected = Attended(c, inputs).all();
  ASSERT_EQ(result.output.size(), expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double actual = double{result.output[i]};
    const bool is_close = std::isnan(expected[i])
                              ? std::isnan(actual)
                              : std::abs(actual - expected[i]) <= tolerance_of(c);
    if (!is_close && ++wrong == 1) {
      ADD_FAILURE() << "element " << i << " is " << actual << ", expected " << expected[i];
    }
  }
  EXPECT_EQ(wrong, 0U);
}

constexpr sluice_element_type kTypes[] = {plugin::kF32, plugin::kF16, plugin::kBf16};

TEST(AttentionKernels, HeadsOfManySizesAndRaggedLengthsAreExactUpToRounding) {
  for (const sluice_element_type type : kTypes) {
    for (const std::int64_t size : {8, 40, 64, 80, 128}) {
      check({.queries = 37, .keys = 70, .size = size, .value_size = size, .type = type});
    }
    check({.queries = 9, .keys = 33, .size = 24, .value_size = 40, .type = type});
    check({.queries = 11, .keys = 3, .size = 5, .value_size = 7, .type = type});
  }
}

TEST(AttentionKernels, FewQueriesAreExactUpToRounding) {
  for (const sluice_element_type type : kTypes) {
    for (const std::int64_t size : {8, 40, 64, 80, 128}) {
      check({.queries = 1, .keys = 150, .size = size, .value_size = size, .type = type});
    }
    check({.heads = 6,
           .kv_heads = 2,
           .queries = 2,
           .keys = 77,
           .size = 24,
           .value_size = 40,
           .type = type});
    check({.heads = 8,
           .kv_heads = 1,
           .queries = 1,
           .keys = 500,
           .size = 32,
           .value_size = 256,
           .type = type});
  }
}

TEST(AttentionKernels, PackedHeadsAreThoseOfFourAxes) {
  for (const std::int64_t queries : {1, 20}) {
    for (const sluice_element_type type : kTypes) {
      for (const int packed : {1, 2, 4, 8, 15}) {
        check({.batch = 2,
               .heads = 6,
               .kv_heads = 3,
               .queries = queries,
               .keys = 21,
               .size = 16,
               .value_size = 24,
               .type = type,
               .packs_q = (packed & 1) != 0,
               .packs_k = (packed & 2) != 0,
               .packs_v = (packed & 4) != 0,
               .packs_y = (packed & 8) != 0});
      }
    }
  }
}

TEST(AttentionKernels, CausalQueriesFollowThePast) {
  for (const sluice_element_type type : kTypes) {
    for (const std::int64_t past : {0, 5, 90}) {
      check({.heads = 4,
             .kv_heads = 2,
             .queries = 45,
             .keys = 45,
             .size = 16,
             .value_size = 8,
             .type = type,
             .past = past,
             .is_causal = true});
      check({.heads = 4,
             .queries = 2,
             .keys = 2,
             .size = 64,
             .value_size = 64,
             .type = type,
             .past = past,
             .packs_q = true,
             .packs_k = true,
             .packs_v = true,
             .packs_y = true,
             .is_causal = true});
    }
  }
  check({.heads = 1,
         .kv_heads = 1,
         .queries = 300,
         .keys = 300,
         .size = 16,
         .value_size = 16,
         .is_causal = true});
}

TEST(AttentionKernels, MasksStretchToTheScores) {
  for (const std::int64_t queries : {2, 18}) {
    const std::vector<std::vector<std::int64_t>> masks = {
        {41}, {queries, 41}, {2, 1, 1, 41}, {3, 1, 41}, {2, 3, queries, 41}, {queries, 1}};
    Case c = {.batch = 2,
              .heads = 3,
              .kv_heads = 3,
              .queries = queries,
              .keys = 41,
              .size = 16,
              .value_size = 16};
    for (const std::vector<std::int64_t>& mask : masks) {
      c.mask = mask;
      check(c);
    }
    c.is_causal = true;
    c.keep = masks[1];
    check(c);
    c.mask = {};
    c.past = 10, c.keys = 31, c.hidden = -3;
    check(c);
    c.is_causal = false;
    c.keep = masks[2];
    check(c);
  }
}

TEST(AttentionKernels, QueriesThatSeeNothingGetWhatIsAskedFor) {
  for (const std::int64_t queries : {3, 40}) {
    for (const int zero_rows : {0, 1, 2}) {
      check({.heads = 1,
             .kv_heads = 1,
             .queries = queries,
             .keys = 2,
             .size = 8,
             .value_size = 8,
             .keep = {queries, 1},
             .zero_rows = zero_rows});
    }
  }
}

TEST(AttentionKernels, DevicesBeforeAsynchronousCopiesComputeTheSame) {
  for (const sluice_element_type type : kTypes) {
    check(
        {.queries = 20, .keys = 70, .size = 64, .value_size = 24, .type = type, .capability = 75});
    check({.queries = 1, .keys = 70, .size = 64, .value_size = 24, .type = type, .capability = 75});
  }
}

TEST(AttentionKernels, MaskedKernelsComputeTheSame) {
  for (const sluice_element_type type : kTypes) {
    check({.heads = 3,
           .kv_heads = 3,
           .queries = 90,
           .keys = 40,
           .size = 16,
           .value_size = 16,
           .type = type,
           .is_causal = true,
           .confine = Confine::kMasks});
    check({.heads = 9,
           .kv_heads = 9,
           .queries = 1,
           .keys = 40,
           .size = 16,
           .value_size = 16,
           .type = type,
           .confine = Confine::kMasks});
  }
}

}  // namespace
}  // namespace sluice::cuda
