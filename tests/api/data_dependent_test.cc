// Operators of a program whose kernels report the dimensions of their outputs: what a kernel may
// report, and what the host refuses to believe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "onnx_model.h"
#include "sluice/compile.hpp"
#include "sluice/operators.hpp"
#include "sluice/runtime.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing::onnx_model;
using testing::OnnxNode;
using Dims = std::vector<std::int64_t>;

constexpr const char* kDomain = "com.example.dims";

/// What the kernel of "Told" reports in its next call. Runs of these tests are one after another.
std::optional<Dims> told;

/// Copies its input and reports `told`; `writes_itself` passes by set_actual_dims, as C code does.
void use_told(const std::string& name, bool writes_itself) {
  Operator op;
  op.domain = kDomain;
  op.name = name;
  op.is_data_dependent = true;
  op.infer = [](OperatorTypes& types) -> std::optional<Error> {
    types.set_output_like(0, 0);
    return std::nullopt;
  };
  op.run = [writes_itself](const plugin::Call& call) -> std::optional<Error> {
    std::ranges::copy(call.input_elements<float>(0), call.output_elements<float>(0).begin());
    if (!told) return std::nullopt;
    if (writes_itself) {
      std::ranges::copy(*told, call.actual_dims()[0]);
    } else {
      call.set_actual_dims(0, *told);
    }
    return std::nullopt;
  };
  const auto error = register_operator(std::move(op));
  EXPECT_TRUE(!error || error->code == Code::kAlreadyExists) << error->message;
}

Model model_of(const std::vector<OnnxNode>& nodes, const std::vector<std::string>& dims) {
  auto package = compile_bytes(onnx_model(nodes, {{"x", 1, dims}}, {{"y", 1, {"A", "B"}}}));
  EXPECT_TRUE(package) << package.error().message;
  auto model = Model::open_copy(*package->bytes());
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

/// The dimensions of y after a run in which the kernel reports `dims`.
Expected<Dims> run(Context& context, const Dims& x_dims, std::optional<Dims> dims) {
  told = std::move(dims);
  std::int64_t count = 1;
  for (const std::int64_t dim : x_dims) count *= dim;
  const std::vector<float> x(static_cast<std::size_t>(count), 1.0F);
  if (auto error = context.set_input<float>("x", x, x_dims)) return *error;
  if (auto error = context.run()) return *error;
  return context.output<float>("y")->dims;
}

const OnnxNode kTold{kDomain, "Told", {"x"}, {"y"}};

TEST(DataDependent, ReportOutsideTheBoundIsRefused) {
  use_told("Told", false);
  use_told("Writes", true);
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const Dims lies[] = {{3, 3}, {2, 4}, {3, 2}, {-1, 3}, {-2, -3}, {kMin, kMin}, {kMax, kMax}};
  for (const std::string kind : {"Told", "Writes"}) {
    const OnnxNode as_output{kDomain, kind, {"x"}, {"y"}};
    const OnnxNode before{kDomain, kind, {"x"}, {"t"}};
    for (const auto& nodes : {std::vector<OnnxNode>{as_output},
                              std::vector<OnnxNode>{before, {"", "Neg", {"t"}, {"y"}}},
                              std::vector<OnnxNode>{{"", "Relu", {"x"}, {"r"}},
                                                    {kDomain, kind, {"r"}, {"t"}},
                                                    {"", "Sqrt", {"t"}, {"y"}}}}) {
      for (const auto& dims : {std::vector<std::string>{"2", "3"}, {"N", "3"}}) {
        const Model model = model_of(nodes, dims);
        auto context = model.create_context();
        for (const Dims& lie : lies) {
          const auto refused = run(*context, {2, 3}, lie);
          ASSERT_FALSE(refused) << kind << " " << lie[0] << "," << lie[1];
          EXPECT_EQ(refused.error().code, Code::kInternal);
          EXPECT_THAT(refused.error().message, HasSubstr("(com.example.dims::" + kind + ")"));
          EXPECT_THAT(refused.error().message, HasSubstr("at most [2,3]"));
          const auto next = run(*context, {2, 3}, Dims{1, 2});
          ASSERT_TRUE(next) << next.error().message;
          EXPECT_EQ(*next, (Dims{1, 2}));
        }
      }
    }
  }
}

TEST(DataDependent, ReportOfAnotherRankIsRefused) {
  use_told("Told", false);
  const Model model = model_of({kTold}, {"2", "3"});
  auto context = model.create_context();
  for (const Dims& lie : {Dims{}, {2}, {2, 3, 1}, Dims(1000, 1)}) {
    const auto refused = run(*context, {2, 3}, lie);
    ASSERT_FALSE(refused) << lie.size();
    EXPECT_THAT(refused.error().message, HasSubstr("at most [2,3]"));
  }
}

TEST(DataDependent, KernelThatReportsNothingFillsTheBound) {
  use_told("Told", false);
  const Model model = model_of({kTold}, {"N", "3"});
  auto context = model.create_context();
  EXPECT_EQ(*run(*context, {2, 3}, std::nullopt), (Dims{2, 3}));
  EXPECT_EQ(*run(*context, {2, 3}, Dims{1, 1}), (Dims{1, 1}));
  EXPECT_EQ(*run(*context, {2, 3}, std::nullopt), (Dims{2, 3}));
}

TEST(DataDependent, EmptyReportIsAnEmptyOutput) {
  use_told("Told", false);
  const Model model = model_of({kTold}, {"N", "3"});
  auto context = model.create_context();
  EXPECT_EQ(*run(*context, {2, 3}, Dims{0, 3}), (Dims{0, 3}));
  EXPECT_EQ(*run(*context, {0, 3}, Dims{0, 3}), (Dims{0, 3}));
}

}  // namespace
}  // namespace sluice
