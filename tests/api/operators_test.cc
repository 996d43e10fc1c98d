// Operators that a program registers: compiled, run and refused through libsluice and
// libsluice_compiler alone.
#include "sluice/operators.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "daemon_process.h"
#include "onnx_model.h"
#include "sluice/backend.h"
#include "sluice/compile.hpp"
#include "sluice/runtime.hpp"
#include "support/paths.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing::onnx_model;
using testing::OnnxNode;
using testing::OnnxValue;

constexpr sluice::Code kAlreadyExists = sluice::Code::kAlreadyExists;

constexpr const char* kDomain = "com.example";

std::optional<Error> scale(const plugin::Call& call) {
  const float by = call.attributes().get_float("by", 1);
  std::ranges::transform(call.input_elements<float>(0), call.output_elements<float>(0).begin(),
                         [&](float x) { return by * x; });
  return std::nullopt;
}

Operator operator_of(const std::string& name) {
  Operator op;
  op.domain = kDomain;
  op.name = name;
  op.run = scale;
  return op;
}

/// Registers an operator once in this process, whichever test comes first.
void use(Operator op) {
  const auto error = register_operator(std::move(op));
  EXPECT_TRUE(!error || error->code == kAlreadyExists) << error->message;
}

void use_scale() { use(operator_of("Scale")); }

/// x -> `node` -> y, from f32[N,3].
std::vector<std::byte> model_of(const OnnxNode& node, std::vector<std::string> dims = {"N", "3"}) {
  return onnx_model({node}, {{"x", 1, dims}}, {{"y", 1, dims}});
}

OnnxNode node_of(const std::string& kind) { return {kDomain, kind, {"x"}, {"y"}, {{"by", 2.0F}}}; }

std::vector<std::byte> compiled(const std::vector<std::byte>& model) {
  auto package = compile_bytes(model);
  EXPECT_TRUE(package) << package.error().message;
  if (!package) return {};
  const auto bytes = *package->bytes();
  return {bytes.begin(), bytes.end()};
}

/// The error of compiling and opening the model, and of a run with 2 rows of 3.
std::optional<Error> error_of(const OnnxNode& node) {
  auto package = compile_bytes(model_of(node));
  if (!package) return package.error();
  auto model = Model::open_copy(*package->bytes());
  if (!model) return model.error();
  auto context = model->create_context();
  const std::vector<float> x(6, 1.0F);
  if (auto error = context->set_input("x", x, {2, 3})) return error;
  return context->run();
}

TEST(Operators, CompiledModelRunsForEveryShape) {
  use_scale();
  const auto package = compiled(onnx_model({{"", "Relu", {"x"}, {"a"}},
                                            {kDomain, "Scale", {"a"}, {"b"}, {{"by", 2.0F}}},
                                            {"", "Neg", {"b"}, {"y"}}},
                                           {{"x", 1, {"N", "3"}}}, {{"y", 1, {"N", "3"}}}));
  auto model = Model::open_copy(package);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_STREQ(model->output(0).type, "f32[N,3]");
  auto context = model->create_context();
  for (const std::int64_t n : {1, 5, 2}) {
    std::vector<float> x(static_cast<std::size_t>(n) * 3, 4.0F);
    x[0] = -1;
    ASSERT_FALSE(context->set_input("x", x, {n, 3}));
    const auto error = context->run();
    ASSERT_FALSE(error) << error->message;
    const auto y = context->output<float>("y");
    EXPECT_EQ(y->dims, (std::vector<std::int64_t>{n, 3}));
    EXPECT_EQ(y->values.front(), 0);
    EXPECT_EQ(y->values.back(), -8);
  }
}

TEST(Operators, RuntimeRunsThemOnItsThreads) {
  auto runtime = Runtime::create();  // before the operator is registered
  ASSERT_TRUE(runtime) << runtime.error().message;
  use_scale();
  const auto package = compiled(model_of(node_of("Scale")));
  const auto model = runtime->load({.package = package, .depth = 2});
  ASSERT_TRUE(model) << model.error().message;
  std::vector<std::thread> callers;
  std::atomic<int> num_right = 0;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&, t] {
      const std::vector<float> x(3, static_cast<float>(t));
      for (int i = 0; i < 50; ++i) {
        const auto reply = model->infer({tensor<float>("x", x, {1, 3})});
        if (reply && reply->output<float>()->values[1] == static_cast<float>(2 * t)) ++num_right;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(num_right, 200);
}

TEST(Operators, ShapeFunctionSetsTypesAndShapes) {
  Operator transpose = operator_of("Turn");
  transpose.infer = [](OperatorTypes& types) -> std::optional<Error> {
    const auto dims = types.dims(0);
    if (!dims || dims->size() != 2) return Error{Code::kInvalidArgument, "x is no matrix"};
    const std::int64_t turned[] = {(*dims)[1], (*dims)[0]};
    types.set_output(0, plugin::kI64, turned);
    return std::nullopt;
  };
  transpose.run = [](const plugin::Call& call) -> std::optional<Error> {
    const auto dims = plugin::dims_of(call.input(0));
    const auto x = call.input_elements<float>(0);
    const auto y = call.output_elements<std::int64_t>(0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto columns = static_cast<std::size_t>(dims[1]);
      y[(i % columns) * static_cast<std::size_t>(dims[0]) + i / columns] =
          static_cast<std::int64_t>(x[i]);
    }
    return std::nullopt;
  };
  use(std::move(transpose));
  auto model = Model::open_copy(
      compiled(onnx_model({node_of("Turn")}, {{"x", 1, {"N", "3"}}}, {{"y", 7, {"3", "N"}}})));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_STREQ(model->output(0).type, "i64[3,N]");
  auto context = model->create_context();
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  ASSERT_FALSE(context->set_input("x", x, {2, 3}));
  ASSERT_FALSE(context->run());
  const auto y = *context->output<std::int64_t>("y");
  EXPECT_EQ(std::vector<std::int64_t>(y.values.begin(), y.values.end()),
            (std::vector<std::int64_t>{1, 4, 2, 5, 3, 6}));
  EXPECT_THAT(compile_bytes(model_of(node_of("Turn"), {"N"})).error().message,
              HasSubstr("node \"y\" (com.example::Turn): x is no matrix"));
}

TEST(Operators, KernelSetsShapeThatDependsOnData) {
  Operator positive = operator_of("Positive");
  positive.is_data_dependent = true;
  positive.infer = [](OperatorTypes& types) -> std::optional<Error> {
    types.set_output_like(0, 0);
    return std::nullopt;
  };
  positive.run = [](const plugin::Call& call) -> std::optional<Error> {
    const auto y = call.output_elements<float>(0);
    std::int64_t count = 0;
    for (const float x : call.input_elements<float>(0)) {
      if (x > 0) y[static_cast<std::size_t>(count++)] = x;
    }
    call.set_actual_dims(0, {&count, 1});
    return std::nullopt;
  };
  use(std::move(positive));
  auto model = Model::open_copy(
      compiled(onnx_model({node_of("Positive")}, {{"x", 1, {"4"}}}, {{"y", 1, {"M"}}})));
  ASSERT_TRUE(model) << model.error().message;
  auto context = model->create_context();
  const std::vector<float> x = {1, -2, 3, -4};
  ASSERT_FALSE(context->set_input("x", x, {4}));
  const auto error = context->run();
  ASSERT_FALSE(error) << error->message;
  EXPECT_EQ(context->output<float>("y")->dims, (std::vector<std::int64_t>{2}));
}

TEST(Operators, BadShapeFunctionIsNamed) {
  const auto with = [](const std::string& name, auto infer) {
    Operator op = operator_of(name);
    op.infer = infer;
    use(std::move(op));
    return error_of(node_of(name));
  };
  using Answer = std::optional<Error>;
  const auto computed = with("Computes", [](OperatorTypes& types) -> Answer {
    const std::int64_t dims[] = {(*types.dims(0))[0] * 2, 3};
    types.set_output(0, 1, dims);
    return std::nullopt;
  });
  ASSERT_TRUE(computed);
  EXPECT_EQ(computed->code, Code::kInvalidArgument);
  EXPECT_THAT(computed->message, HasSubstr("from one that is not known"));
  const auto untyped = with("Untyped", [](OperatorTypes&) -> Answer { return std::nullopt; });
  ASSERT_TRUE(untyped);
  EXPECT_THAT(untyped->message, HasSubstr("gives output 0 element type 0"));
  const auto strange = with("Strange", [](OperatorTypes& types) -> Answer {
    types.set_output(0, 99, {});
    return std::nullopt;
  });
  ASSERT_TRUE(strange);
  EXPECT_THAT(strange->message, HasSubstr("element type 99"));
  const auto throws = with(
      "InferThrows", [](OperatorTypes&) -> Answer { throw std::runtime_error("no shapes today"); });
  ASSERT_TRUE(throws);
  EXPECT_EQ(throws->code, Code::kInternal);
  EXPECT_THAT(throws->message, HasSubstr("(com.example::InferThrows): its shape function threw: no "
                                         "shapes today"));
}

TEST(Operators, FailureOfKernelReachesCaller) {
  Operator fails = operator_of("Fails");
  fails.run = [](const plugin::Call&) -> std::optional<Error> {
    return Error{Code::kFailedPrecondition, "the table is not loaded"};
  };
  use(std::move(fails));
  const auto failed = error_of(node_of("Fails"));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code, Code::kFailedPrecondition);
  EXPECT_THAT(failed->message,
              HasSubstr("node \"y\" (com.example::Fails): the table is not loaded"));
  Operator throws = operator_of("Throws");
  throws.run = [](const plugin::Call&) -> std::optional<Error> { throw std::runtime_error("oh"); };
  use(std::move(throws));
  const auto thrown = error_of(node_of("Throws"));
  ASSERT_TRUE(thrown);
  EXPECT_EQ(thrown->code, Code::kInternal);
  EXPECT_THAT(thrown->message, HasSubstr("(com.example::Throws): its kernel threw: oh"));
}

TEST(Operators, RuntimeHearsWhetherARequestOrTheKernelIsAtFault) {
  Operator picky = operator_of("Picky");
  picky.run = [](const plugin::Call& call) -> std::optional<Error> {
    const bool is_wrong = call.input_elements<float>(0)[0] < 0;
    return Error{is_wrong ? Code::kOutOfRange : Code::kFailedPrecondition, "not with me"};
  };
  use(std::move(picky));
  auto runtime = Runtime::create();
  ASSERT_TRUE(runtime) << runtime.error().message;
  const auto package = compiled(model_of(node_of("Picky")));
  const auto model = runtime->load({.package = package});
  ASSERT_TRUE(model) << model.error().message;
  const auto error_with = [&](float first) {
    const std::vector<float> x(3, first);
    return model->infer({tensor<float>("x", x, {1, 3})}).error();
  };
  EXPECT_EQ(error_with(-1).code, Code::kInvalidArgument);
  EXPECT_EQ(sluice_last_error_runtime_code(), SLUICE_RUNTIME_CODE_BAD_INPUT);
  EXPECT_THAT(error_with(-1).message, HasSubstr("not with me"));
  EXPECT_EQ(error_with(1).code, Code::kInternal);
  EXPECT_EQ(sluice_last_error_runtime_code(), SLUICE_RUNTIME_CODE_COMPLETED_WITH_ERROR);
}

TEST(Operators, KernelMayRunAnotherModel) {
  use_scale();
  static const auto inner = compiled(model_of(node_of("Scale")));
  Operator nested = operator_of("Nested");
  nested.run = [](const plugin::Call& call) -> std::optional<Error> {
    auto model = Model::open_borrowed(inner);
    if (!model) model = Model::open_copy(inner);
    auto context = model->create_context();
    if (auto error = context->set_input<float>("x", call.input_elements<float>(0),
                                               plugin::dims_of(call.input(0)))) {
      return error;
    }
    if (auto error = context->run()) return error;
    std::ranges::copy(context->output<float>("y")->values, call.output_elements<float>(0).begin());
    return std::nullopt;
  };
  use(std::move(nested));
  EXPECT_FALSE(error_of(node_of("Nested")));
}

TEST(Operators, UnknownOperatorIsRefusedByTheCompiler) {
  const auto error = error_of(node_of("NobodyHasIt"));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::kUnimplemented);
  EXPECT_THAT(error->message, HasSubstr("com.example::NobodyHasIt"));
  EXPECT_THAT(error->message, HasSubstr("sluice/operators.h"));
}

TEST(Operators, WrongNumberOfOperandsIsRefused) {
  use_scale();
  const auto two = compile_bytes(
      onnx_model({{kDomain, "Scale", {"x", "x"}, {"y"}}}, {{"x", 1, {"3"}}}, {{"y", 1, {"3"}}}));
  ASSERT_FALSE(two);
  EXPECT_THAT(two.error().message, HasSubstr("has 2 inputs; the operator knows 1"));
  const auto none = compile_bytes(
      onnx_model({{kDomain, "Scale", {}, {"y"}}}, {{"x", 1, {"3"}}}, {{"y", 1, {"3"}}}));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("input \"0\" is missing"));
}

TEST(Operators, RegistrationNamesTheWrongField) {
  const auto error_with = [](auto change) {
    Operator op = operator_of("Checked");
    change(op);
    const auto error = register_operator(std::move(op));
    return error ? error->message : std::string("registered");
  };
  EXPECT_THAT(error_with([](Operator& op) { op.domain = ""; }), HasSubstr("domain is \"\""));
  EXPECT_THAT(error_with([](Operator& op) { op.domain = "sluice"; }), HasSubstr("of Sluice alone"));
  EXPECT_THAT(error_with([](Operator& op) { op.name = "a b"; }), HasSubstr("name is \"a b\""));
  EXPECT_THAT(error_with([](Operator& op) { op.name = std::string(256, 'a'); }),
              HasSubstr("name is"));
  EXPECT_THAT(error_with([](Operator& op) { op.run = nullptr; }), HasSubstr("run is null"));
  EXPECT_THAT(error_with([](Operator& op) { op.version = -1; }), HasSubstr("version is -1"));
  EXPECT_THAT(error_with([](Operator& op) { op.min_inputs = 2; }), HasSubstr("min_inputs is 2"));
  EXPECT_THAT(error_with([](Operator& op) { op.min_inputs = 0; }), HasSubstr("infer is null"));
  EXPECT_THAT(error_with([](Operator& op) { op.max_outputs = -1; }), HasSubstr("max_outputs is"));
  EXPECT_THAT(error_with([](Operator& op) { op.min_outputs = op.max_outputs = 0; }),
              HasSubstr("max_outputs is 0"));
}

TEST(Operators, RegistrationInCIsChecked) {
  EXPECT_EQ(sluice_operator_register(nullptr), SLUICE_INVALID_ARGUMENT);
  sluice_operator op = {};
  EXPECT_EQ(sluice_operator_register(&op), SLUICE_INVALID_ARGUMENT);
  EXPECT_THAT(sluice_last_error(), HasSubstr("struct_size is 0"));
  op.struct_size = sizeof(op);
  EXPECT_EQ(sluice_operator_register(&op), SLUICE_INVALID_ARGUMENT);
  EXPECT_THAT(sluice_last_error(), HasSubstr("domain is null"));
  op.domain = kDomain;
  op.name = "InC";
  op.flags = 64;
  op.min_inputs = op.max_inputs = op.min_outputs = op.max_outputs = 1;
  op.run = [](void*, const sluice_operator_call*, sluice_message*) { return SLUICE_OK; };
  EXPECT_EQ(sluice_operator_register(&op), SLUICE_INVALID_ARGUMENT);
  EXPECT_THAT(sluice_last_error(), HasSubstr("flags 0x40 are unknown"));
  op.flags = 0;
  EXPECT_EQ(sluice_operator_register(&op), 0) << sluice_last_error();
  EXPECT_EQ(sluice_operator_register(&op), SLUICE_ALREADY_EXISTS);
  op.domain = "com.microsoft";
  op.name = "FusedMatMul";
  EXPECT_EQ(sluice_operator_register(&op), SLUICE_ALREADY_EXISTS) << "an operator of Sluice's own";
  const sluice_operator* last = sluice_operator_at(sluice_num_operators() - 1);
  ASSERT_NE(last, nullptr);
  EXPECT_STREQ(last->name, "InC");
  EXPECT_EQ(sluice_operator_at(sluice_num_operators()), nullptr);
}

TEST(Operators, CompilerChecksItsList) {
  const auto model = model_of(node_of("Scale"));
  sluice_compile_request request = {};
  request.struct_size = sizeof(request);
  request.data = model.data();
  request.size_bytes = model.size();
  request.num_operators = 1;
  sluice_package* package = nullptr;
  EXPECT_EQ(sluice_compile(&request, &package), SLUICE_INVALID_ARGUMENT);
  EXPECT_THAT(sluice_compile_last_error(), HasSubstr("operators is null"));
  const sluice_operator* none = nullptr;
  request.operators = &none;
  EXPECT_EQ(sluice_compile(&request, &package), SLUICE_INVALID_ARGUMENT);
  EXPECT_THAT(sluice_compile_last_error(), HasSubstr("operator 0 is null"));
}

// The child of the death test registers nothing.
TEST(OperatorsDeathTest, ProcessWithoutTheOperatorRefusesThePackage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  static const testing::TempDir folder;
  if (::getenv("SLUICE_TEST_PACKAGE") == nullptr) {
    use_scale();
    auto package = compile_bytes(model_of(node_of("Scale")));
    const std::string path = (folder.path() / "scale.sluice").string();
    ASSERT_FALSE(package->save(path));
    ::setenv("SLUICE_TEST_PACKAGE", path.c_str(), 1);
  }
  const auto open = [] {
    const auto model = Model::open(::getenv("SLUICE_TEST_PACKAGE"));
    std::fputs(model ? "opened" : model.error().message.c_str(), stderr);
    std::_Exit(model ? 0 : static_cast<int>(model.error().code));
  };
  EXPECT_EXIT(open(), ::testing::ExitedWithCode(SLUICE_UNIMPLEMENTED),
              "node .y. .com.example::Scale.: no such operator in domain .com.example.*"
              "sluice_operator_register");
}

// A daemon is a process that registers no operators. The package reaches it by its path and as
// bytes.
TEST(Operators, DaemonRefusesThePackage) {
  use_scale();
  const auto package = compiled(model_of(node_of("Scale")));
  const testing::TempDir folder;
  const testing::DaemonProcess daemon(folder);
  auto runtime = Runtime::connect(daemon.address());
  ASSERT_TRUE(runtime) << runtime.error().message << daemon.output();
  for (const auto isolation : {SLUICE_ISOLATION_STREAM, SLUICE_ISOLATION_PROCESS}) {
    const auto group = runtime->create_group({.num_cores = 1, .isolation = isolation});
    ASSERT_TRUE(group) << group.error().message;
    const auto loaded = runtime->load({.package = package, .group = group->id()});
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, Code::kNotFound);
    EXPECT_THAT(loaded.error().message,
                HasSubstr("operators that a program registers in its own process"));
  }
}

}  // namespace
}  // namespace sluice
