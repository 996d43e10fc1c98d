// Traces functions as a program does: by the public headers and libraries alone.
#include "sluice/trace/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "sluice/operators.hpp"

namespace sluice::trace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

struct Array {
  std::string name;
  std::vector<float> values;
  std::vector<std::int64_t> dims;
};

std::vector<float> counted(std::size_t size, float first = 0) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// The first output of the package for these inputs.
std::vector<float> run(Expected<Package>& package, const std::vector<Array>& inputs) {
  if (!package) {
    ADD_FAILURE() << package.error().message;
    return {};
  }
  auto model = Model::open_copy(*package->bytes(), 1);
  auto context = model->create_context();
  for (const Array& input : inputs) {
    const auto error = context->set_input<float>(input.name, std::span<const float>(input.values),
                                                 std::span<const std::int64_t>(input.dims));
    EXPECT_FALSE(error) << error->message;
  }
  const auto error = context->run();
  EXPECT_FALSE(error) << error->message;
  const auto output = context->output<float>(model->output(0).name);
  return {output->values.begin(), output->values.end()};
}

TEST(Trace, FunctionBecomesAPackageThatTakesAnySizeOfANamedDimension) {
  auto package =
      compile([](Tensor x, Tensor y) { return 2 * x + y; }, {{"x", "f32[N,3]"}, {"y", "f32[3]"}});
  const Array y = {"y", {1, 1, 1}, {3}};
  EXPECT_THAT(run(package, {{"x", counted(6), {2, 3}}, y}), ElementsAre(1, 3, 5, 7, 9, 11));
  EXPECT_THAT(run(package, {{"x", counted(3), {1, 3}}, y}), ElementsAre(1, 3, 5));
}

TEST(Trace, ArithmeticComparesAndConverts) {
  auto package = compile(
      [](Tensor x) {
        const Tensor whole = x.to<std::int64_t>() / 2;  // 0 0 1 1 2 2
        const Tensor sign = where(((x > 1) & !(x == 4)) | (x >= 5), 1.0, -x);
        return whole.to<float>() * 10 + sign - (1 - x / 2);
      },
      {{"x", "f32[6]"}});
  EXPECT_THAT(run(package, {{"x", counted(6), {6}}}), ElementsAre(-1, -1.5, 11, 11.5, 17, 22.5));
}

TEST(Trace, IndexingIsPythons) {
  const auto part = [](auto pick) {
    auto package = compile([&](Tensor x) { return pick(x); }, {{"x", "f32[2,3,4]"}});
    return run(package, {{"x", counted(24), {2, 3, 4}}});
  };
  EXPECT_THAT(part([](Tensor x) { return x[{1, 2}]; }), ElementsAre(20, 21, 22, 23));
  EXPECT_THAT(part([](Tensor x) { return x[-1][0][{slice(1, 3)}]; }), ElementsAre(13, 14));
  EXPECT_THAT(part([](Tensor x) { return x[{all, 0, -1}]; }), ElementsAre(3, 15));
  EXPECT_THAT(part([](Tensor x) { return x[{0, 0, slice({}, {}, -1)}]; }), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(part([](Tensor x) { return x[{0, slice(-2), 0}]; }), ElementsAre(4, 8));
  EXPECT_EQ(part([](Tensor x) { return x[all]; }).size(), 24U);
}

TEST(Trace, ShapesAndReductionsAreKnownWhileTracing) {
  auto package = compile(
      [](Tensor x) {
        EXPECT_EQ(x.type(), "f32[N,3,4]");
        EXPECT_THAT(x.dims(), ElementsAre(-1, 3, 4));
        EXPECT_EQ(x.transpose({0, 2, 1}).type(), "f32[N,4,3]");
        EXPECT_EQ(x.reshape({0, 12}).dim(-1), 12);
        EXPECT_EQ(x.flatten().unsqueeze({1}).squeeze({1}).type(), "f32[N,12]");
        EXPECT_EQ(x.sum({1}, true).type(), "f32[N,1,4]");
        EXPECT_EQ(argmax(x, 1).type(), "i64[N,4]");
        return x.sum({1, 2}) + x.mean() + x.max({1, 2}) - x.min({1, 2});
      },
      {{"x", "f32[N,3,4]"}});
  EXPECT_THAT(run(package, {{"x", counted(12), {1, 3, 4}}}), ElementsAre(66 + 5.5 + 11));
}

TEST(Trace, SeveralOutputsHaveNames) {
  auto package = compile(
      [](Tensor x) {
        return std::vector<Output>{
            {"twice", x + x}, {"same", x}, {"one", constant<float>({1}, {1})}};
      },
      {{"x", "f32[2]"}});
  ASSERT_TRUE(package) << package.error().message;
  auto model = Model::open_copy(*package->bytes(), 1);
  ASSERT_EQ(model->num_outputs(), 3U);
  EXPECT_STREQ(model->output(0).name, "twice");
  EXPECT_STREQ(model->output(1).name, "same");
}

class Linear : public Module {
 public:
  Linear(std::int64_t from, std::int64_t to)
      : weight_(add_parameter("weight", {from, to})), bias_(add_parameter("bias", {to})) {}
  Tensor operator()(const Tensor& x) const { return matmul(x, weight_) + bias_; }

 private:
  Parameter& weight_;
  Parameter& bias_;
};

class Twice : public Module {
 public:
  Tensor operator()(const Tensor& x) const { return inner_(relu(inner_(x))); }

 private:
  Linear& inner_ = add_module<Linear>("inner", 2, 2);
};

TEST(Trace, ModulesHaveNamedParametersWhichTheyMayShare) {
  Twice twice;
  const auto named = twice.parameters();
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].name, "inner.weight");
  EXPECT_EQ(named[1].name, "inner.bias");
  EXPECT_EQ(twice.find_parameter("inner.scale"), nullptr);
  const std::vector<float> weight = {1, 2, -3, 1};
  std::ranges::copy(weight, twice.find_parameter("inner.weight")->values().begin());
  twice.find_parameter("inner.bias")->values()[1] = 1;
  auto package = compile([&](Tensor x) { return twice(x); }, {{"x", "f32[1,2]"}});
  // [1 2] -> [-5 5] -> [0 5] -> [-15 6]
  EXPECT_THAT(run(package, {{"x", {1, 2}, {1, 2}}}), ElementsAre(-15, 6));
}

TEST(Trace, ConvolutionsNormalizationAndSoftmaxAgreeWithTheirFormulas) {
  const Parameter kernel({1, 1, 2, 2}, {1, 0, 0, -1});
  auto convolved = compile(
      [&](Tensor x) {
        return max_pool(conv(x, kernel, Tensor(), {.pads = {0, 0, 1, 1}}), {2, 2});
      },
      {{"x", "f32[1,1,2,2]"}});
  EXPECT_THAT(run(convolved, {{"x", {1, 2, 3, 4}, {1, 1, 2, 2}}}), ElementsAre(4));
  const Parameter scale({2}, {2, 2});
  auto normalized = compile([&](Tensor x) { return layer_norm(x, scale); }, {{"x", "f32[1,2]"}});
  EXPECT_THAT(run(normalized, {{"x", {1, 3}, {1, 2}}}),
              Pointwise(FloatNear(1e-4F), std::vector<float>{-2, 2}));
  auto shares = compile([](Tensor x) { return softmax(x); }, {{"x", "f32[2]"}});
  EXPECT_THAT(run(shares, {{"x", {0, std::log(3.0F)}, {2}}}),
              Pointwise(FloatNear(1e-6F), std::vector<float>{0.25, 0.75}));
}

/// The error of tracing a function of x f32[2,3] and y f32[4].
template <typename Function>
std::string error_of(Function function) {
  const auto package = compile(function, {{"x", "f32[2,3]"}, {"y", "f32[4]"}});
  return package ? "" : package.error().message;
}

std::string here(int line) { return "trace_test.cc:" + std::to_string(line) + ": "; }

TEST(Trace, BranchesOnElementsAreRefusedWithTheLineOfTheCondition) {
  const int line = __LINE__ + 2;
  const std::string branch = error_of([](Tensor x, Tensor) {
    if (x.sum() > 0) return x;
    return -x;
  });
  EXPECT_THAT(branch, AllOf(HasSubstr(here(line)), HasSubstr("branches on a tensor, bool[]")));
  const std::string loop = error_of([](Tensor x, Tensor) {
    while (!(x.sum() > 0)) x = x + 1;
    return x;
  });
  EXPECT_THAT(loop, HasSubstr(here(line + 5)));
  const std::string input = error_of([](Tensor x, Tensor) {
    if (x) return -x;
    return x;
  });
  EXPECT_THAT(input, HasSubstr("branches on a tensor, f32[2,3]"));
}

TEST(Trace, RefusalsNameTheLine) {
  const int line = __LINE__ + 2;
  const std::string errors[] = {
      error_of([](Tensor x, Tensor y) { return x * y; }),
      error_of([](Tensor x, Tensor) { return x[7]; }),
      error_of([](Tensor x, Tensor) { return x.flatten(5); }),
      error_of([](Tensor x, Tensor) { return x.to<std::int64_t>() + 0.5; }),
      error_of([](Tensor x, Tensor) { return x + x.to<std::int64_t>(); }),
      error_of([](Tensor x, Tensor) { return call({.kind = "Rule", .inputs = {x}}); }),
  };
  const std::string reasons[] = {"[2,3] and [4] do not broadcast",
                                 "index 7 is outside of f32[2,3]",
                                 "Flatten",
                                 "the number 0.5",
                                 "i64",
                                 "no operator Rule"};
  for (int i = 0; i < 6; ++i) {
    EXPECT_THAT(errors[i], AllOf(HasSubstr(here(line + i)), HasSubstr(reasons[i])));
  }
  EXPECT_THAT(error_of([](Tensor, Tensor) { return Tensor(); }), HasSubstr("does not exist"));
}

TEST(Trace, WrongInputsAndOptionsAreRefused) {
  const auto same = [](Tensor x) { return x; };
  EXPECT_THAT(compile(same, {{"x", "f33[2]"}}).error().message, HasSubstr("f33"));
  EXPECT_THAT(compile(same, {{"", "f32[2]"}}).error().message, HasSubstr("needs a name"));
  const auto twice =
      compile([](Tensor x, Tensor y) { return x + y; }, {{"x", "f32[2]"}, {"x", "f32[2]"}});
  EXPECT_THAT(twice.error().message, HasSubstr("the name \"x\" is taken"));
  const auto shaped = compile(same, {{"x", "f32[N]"}}, {.options = {"--shape", "x=3"}});
  EXPECT_THAT(shaped.error().message, HasSubstr("--shape is for files"));
}

TEST(Trace, OperatorsOfTheProgramAreCalled) {
  Operator twice;
  twice.domain = "com.example.trace";
  twice.name = "Twice";
  twice.run = [](const plugin::Call& node) -> std::optional<Error> {
    std::ranges::transform(node.input_elements<float>(0), node.output_elements<float>(0).begin(),
                           [](float x) { return 2 * x; });
    return std::nullopt;
  };
  ASSERT_FALSE(register_operator(std::move(twice)));
  auto package = compile(
      [](Tensor x) {
        return call({.kind = "Twice", .inputs = {x}, .domain = "com.example.trace"}) + 1;
      },
      {{"x", "f32[2]"}});
  EXPECT_THAT(run(package, {{"x", {1, 2}, {2}}}), ElementsAre(3, 5));
}

TEST(Trace, TensorsEndWithTheirTrace) {
  Tensor kept;
  ASSERT_TRUE(compile([&](Tensor x) { return kept = x; }, {{"x", "f32[2]"}}));
  EXPECT_THAT(error_of([&](Tensor x, Tensor) { return x + kept; }),
              HasSubstr("a tensor of another trace"));
  EXPECT_THROW(kept + 1, Refusal);
  const auto throwing = [](Tensor x) -> Tensor {
    if (x.rank() == 1) throw 7;
    return x;
  };
  EXPECT_THROW(compile(throwing, {{"x", "f32[2]"}}), int);
  EXPECT_TRUE(compile([](Tensor x) { return x + 1; }, {{"x", "f32[2]"}}));
}

TEST(Trace, NullArgumentsOfTheCInterfaceAreRefused) {
  constexpr std::int32_t kInvalidArgument = SLUICE_INVALID_ARGUMENT;
  sluice_trace* trace = nullptr;
  sluice_value value = 0;
  EXPECT_EQ(sluice_trace_create(nullptr, 0, nullptr), kInvalidArgument);
  EXPECT_EQ(sluice_trace_create(nullptr, 1, &trace), kInvalidArgument);
  ASSERT_EQ(sluice_trace_create(nullptr, 0, &trace), SLUICE_OK);
  EXPECT_EQ(sluice_trace_input(trace, nullptr, "f32[]", &value), kInvalidArgument);
  EXPECT_EQ(sluice_trace_constant(trace, nullptr, nullptr, &value), kInvalidArgument);
  const std::int64_t dim = 3;
  float element = 0;
  const sluice_array short_array = {&element, 4, 1, 1, &dim};
  EXPECT_EQ(sluice_trace_constant(trace, nullptr, &short_array, &value), kInvalidArgument);
  sluice_trace_operation operation = {};
  operation.struct_size = sizeof(operation);
  EXPECT_EQ(sluice_trace_record(trace, &operation, &value), kInvalidArgument);
  operation.kind = "Relu";
  operation.num_inputs = 1;
  EXPECT_EQ(sluice_trace_record(trace, &operation, &value), kInvalidArgument);
  sluice_attribute attribute = {};
  operation.num_inputs = 0;
  operation.num_attributes = 1;
  operation.attributes = &attribute;
  EXPECT_EQ(sluice_trace_record(trace, &operation, &value), kInvalidArgument);
  EXPECT_EQ(sluice_trace_output(trace, "y", 0), kInvalidArgument);
  EXPECT_EQ(sluice_trace_describe(trace, 0), nullptr);
  EXPECT_EQ(sluice_trace_describe(nullptr, 0), nullptr);
  sluice_compile_request request = {};
  request.trace = trace;
  EXPECT_THAT(sluice::compile(request, {}).error().message, HasSubstr("no output"));
  sluice_trace_free(trace);
  sluice_trace_free(nullptr);
}

}  // namespace
}  // namespace sluice::trace
