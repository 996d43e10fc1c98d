// What runs of ever new shapes cost, by counts of work and bytes kept.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/log/work_counts.h"
#include "exec/testing/exec_testing.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using testing::f32_view;
using testing::floats;

constexpr std::int64_t kWidth = 8;
constexpr int kLayers = 3;

std::string weights(const std::string& name) {
  std::string values;
  for (std::int64_t i = 0; i < kWidth * kWidth; ++i) {
    values +=
        fmt::format("{}{:.2f}", i == 0 ? "" : ", ", 0.01 * static_cast<double>(i % 17) - 0.08);
  }
  return fmt::format("  const %{} : f32[{},{}] = [{}]\n", name, kWidth, kWidth, values);
}

/// A decoder without normalizations: per layer, keys and values of one row are appended to those of
/// the past, which run in and out.
std::string decoder() {
  std::string inputs = fmt::format("  input %x0 : f32[1,{}]\n", kWidth);
  std::string constants, steps, outputs;
  for (int i = 0; i < kLayers; ++i) {
    inputs += fmt::format("  input %pk{0} : f32[P,{1}]\n  input %pv{0} : f32[P,{1}]\n", i, kWidth);
    for (const char* name : {"wq", "wk", "wv", "wo", "wu"}) {
      constants += weights(fmt::format("{}{}", name, i));
    }
    steps += fmt::format(R"(  [%q{0} : f32[1,8]] = MatMul.13[%x{0}, %wq{0}]
  [%k{0} : f32[1,8]] = MatMul.13[%x{0}, %wk{0}]
  [%v{0} : f32[1,8]] = MatMul.13[%x{0}, %wv{0}]
  [%ks{0} : f32[P+1,8]] = Concat.13[%pk{0}, %k{0}] {{axis = 0}}
  [%vs{0} : f32[P+1,8]] = Concat.13[%pv{0}, %v{0}] {{axis = 0}}
  [%kt{0} : f32[8,P+1]] = Transpose.25[%ks{0}] {{perm = [1, 0]}}
  [%s{0} : f32[1,P+1]] = MatMul.13[%q{0}, %kt{0}]
  [%p{0} : f32[1,P+1]] = Softmax.13[%s{0}] {{axis = -1}}
  [%a{0} : f32[1,8]] = MatMul.13[%p{0}, %vs{0}]
  [%o{0} : f32[1,8]] = MatMul.13[%a{0}, %wo{0}]
  [%r{0} : f32[1,8]] = Add.14[%x{0}, %o{0}]
  [%u{0} : f32[1,8]] = MatMul.13[%r{0}, %wu{0}]
  [%t{0} : f32[1,8]] = Tanh.13[%u{0}]
  [%x{1} : f32[1,8]] = Add.14[%r{0}, %t{0}]
)",
                         i, i + 1);
    outputs += fmt::format(", %ks{0}, %vs{0}", i);
  }
  return fmt::format("subgraph @0 \"main\" {{\n{}{}{}  output [%x{}{}]\n}}\n", inputs, constants,
                     steps, kLayers, outputs);
}

LoadedModel load_with(std::int64_t max_recorded_bytes, std::string_view backend = "cpu") {
  LoadOptions options;
  options.num_threads = 1;
  options.max_recorded_bytes = max_recorded_bytes;
  auto model =
      LoadedModel::load(testing::executable_of(decoder(), backend), testing::registry(), options);
  EXPECT_TRUE(model.is_ok()) << model.status().to_string();
  return std::move(model).value();
}

/// Runs of one context with a past of any length.
class Decoding {
 public:
  explicit Decoding(const LoadedModel& model)
      : context_(std::move(model.create_context()).value()) {}

  /// The result for a past of `length` rows, which are the same in every call.
  std::vector<float> run(std::int64_t length) {
    Aligned<float> x(std::vector<float>(kWidth, 0.5F));
    std::vector<float> rows(static_cast<std::size_t>(length * kWidth));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = 0.1F * static_cast<float>(i % 7);
    Aligned<float> past(rows);
    EXPECT_TRUE(context_.set_input(0, f32_view(x, {1, kWidth})).is_ok());
    for (std::size_t i = 1; i <= 2 * kLayers; ++i) {
      EXPECT_TRUE(context_.set_input(i, f32_view(past, {length, kWidth})).is_ok());
    }
    const Status status = context_.run();
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    EXPECT_EQ(context_.output(1).dims, (std::vector<std::int64_t>{length + 1, kWidth}));
    return floats(context_.output(0));
  }

  WorkCounts work_of(std::int64_t length) {
    const WorkCounts before = work_counts;
    run(length);
    return work_counts - before;
  }

  std::int64_t recorded_bytes() const { return context_.recorded_bytes(); }

 private:
  Context context_;
};

/// The default limit is never reached: shapes that came once are forgotten. A list of another
/// length may take a tenth more: on some processors a longer one is divided among workers, or needs
/// more scratch. Lists that were kept for every length would take many times as much.
TEST(Growth, MemoryStaysFlatWhileAPastGrows) {
  const LoadedModel model = load_with(std::int64_t{64} << 20);
  Decoding decoding(model);
  std::int64_t most_recorded = 0;
  std::int64_t most_planned = 0;
  for (std::int64_t length = 1; length <= 1500; ++length) {
    decoding.run(length);
    if (length <= 64) {
      most_recorded = std::max(most_recorded, decoding.recorded_bytes());
      most_planned = std::max(most_planned, model.plan_bytes());
    }
    ASSERT_LE(decoding.recorded_bytes(), most_recorded + most_recorded / 10) << length;
    ASSERT_LE(model.plan_bytes(), most_planned + most_planned / 10) << length;
  }
}

TEST(Growth, ShapesThatComeAgainAreBoundedByBytes) {
  constexpr std::int64_t kLimit = 1 << 20;
  const LoadedModel model = load_with(kLimit);
  Decoding decoding(model);
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t length = 1; length <= 300; ++length) {
      decoding.run(length);
      ASSERT_LE(decoding.recorded_bytes(), kLimit) << length;
      ASSERT_LE(model.plan_bytes(), kLimit) << length;
    }
  }
  EXPECT_GT(decoding.recorded_bytes(), kLimit / 2) << "the limit was never reached";
}

TEST(Growth, ShapeThatCameBackIsKept) {
  const LoadedModel model = load_with(std::int64_t{64} << 20);
  Decoding decoding(model);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t length = 1; length <= 100; ++length) decoding.run(length);
  }
  for (std::int64_t length = 1; length <= 100; ++length) {
    EXPECT_EQ(decoding.work_of(length).kernels, 0U) << length;
  }
}

/// Lists are recorded where tensors outgrow their places, not for each shape.
TEST(Growth, ShapesOfOnePlacementShareTheirLists) {
  const LoadedModel model = load_with(std::int64_t{64} << 20);
  Decoding decoding(model);
  for (std::int64_t length = 1; length <= 64; ++length) decoding.run(length);
  int recorded = 0;
  for (std::int64_t length = 65; length <= 500; ++length) {
    recorded += decoding.work_of(length).recorded_kernels > 0 ? 1 : 0;
  }
  EXPECT_LE(recorded, 16);
}

TEST(Growth, OneRecordingIsKeptHoweverSmallTheLimit) {
  const LoadedModel model = load_with(0);
  Decoding decoding(model);
  decoding.run(3);
  const std::int64_t one = decoding.recorded_bytes();
  decoding.run(4);
  EXPECT_LT(decoding.recorded_bytes(), one * 3 / 2);
  EXPECT_EQ(decoding.work_of(4).kernels, 0U) << "the last shape is known";
  EXPECT_GT(decoding.work_of(3).kernels, 0U);
}

TEST(Growth, LeastRecentlyUsedShapeGoesFirst) {
  const std::vector<std::int64_t> lengths = {3, 4, 3, 5, 6};
  const LoadedModel large = load_with(std::int64_t{64} << 20);
  Decoding all(large);
  for (const std::int64_t length : lengths) all.run(length);
  const LoadedModel model = load_with(large.plan_bytes() - 1);  // room for all but one
  Decoding decoding(model);
  for (const std::int64_t length : lengths) decoding.run(length);
  for (const std::int64_t kept : {6, 5, 3}) {
    EXPECT_EQ(decoding.work_of(kept).kernels, 0U) << kept;
  }
  EXPECT_GT(decoding.work_of(4).kernels, 0U) << "4 was used before 3";
}

/// A past that is one row longer changes the shapes of five steps in a layer.
TEST(Growth, NewShapePlansWhatHasChanged) {
  const LoadedModel model = load_with(std::int64_t{64} << 20);
  Decoding decoding(model);
  const WorkCounts first = decoding.work_of(10);
  EXPECT_GE(first.kernels, 14U * kLayers);
  for (std::int64_t length = 11; length < 60; ++length) {
    const WorkCounts next = decoding.work_of(length);
    EXPECT_LE(next.shape_functions, 6U * kLayers) << length;
    EXPECT_LE(next.kernels, 6U * kLayers) << length;
  }
  const WorkCounts known = decoding.work_of(30);
  EXPECT_EQ(known.shape_functions + known.kernels + known.recorded_kernels, 0U);
}

TEST(Growth, AnotherContextTakesThePlansOver) {
  const LoadedModel model = load_with(std::int64_t{64} << 20);
  Decoding(model).run(10);
  EXPECT_EQ(Decoding(model).work_of(10).kernels, 0U);
}

/// A plan from a similar plan gives the results of a fresh plan, in any order of lengths.
TEST(Growth, PlansFromSimilarOnesAreRight) {
  for (const char* backend : {"cpu", "reference"}) {
    std::map<std::int64_t, std::vector<float>> wanted;
    const std::vector<std::int64_t> lengths = {1,   2, 3,  40,  4, 5, 0, 6,
                                               100, 7, 41, 200, 8, 0, 1, 300};
    for (const std::int64_t length : lengths) {
      const LoadedModel fresh = load_with(std::int64_t{64} << 20, backend);
      wanted[length] = Decoding(fresh).run(length);
    }
    const LoadedModel model = load_with(std::int64_t{64} << 20, backend);
    Decoding decoding(model);
    for (const std::int64_t length : lengths) {
      EXPECT_EQ(decoding.run(length), wanted[length]) << backend << " " << length;
    }
    const LoadedModel forgetful = load_with(0, backend);
    Decoding again(forgetful);
    for (const std::int64_t length : lengths) {
      EXPECT_EQ(again.run(length), wanted[length]) << backend << " " << length;
    }
  }
}

}  // namespace
}  // namespace sluice::exec
