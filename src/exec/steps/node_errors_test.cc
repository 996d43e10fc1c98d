// An error of a run names the node, where the program that made the model has it, and the value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "exec/testing/exec_testing.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using testing::executable_of;
using testing::f32_view;
using ::testing::HasSubstr;
using testing::i64_view;
using testing::registry;

struct ErrorCase {
  std::string name;
  std::string operation;  ///< reads %x : f32[4] or f32[N], and %at : i64[1] = [7]
  std::string kind;
  std::string says;
};

const ErrorCase kCases[] = {
    {"Gather", "[%y : f32[1]] = Gather.13[%x, %at] {axis = 0}", "Gather",
     "index 7 is outside axis 0, which has 4"},
    {"GatherElements", "[%y : f32[1]] = GatherElements.13[%x, %at] {axis = 0}", "GatherElements",
     "index 7 is outside axis 0, which has 4"},
    {"GatherND", "[%y : f32[]] = GatherND.13[%x, %at] {batch_dims = 0}", "GatherND",
     "index 7 is outside axis 0, which has 4"},
    {"ScatterElements",
     "[%y : f32[4]] = ScatterElements.18[%x, %at, %one] {axis = 0, reduction = \"none\"}",
     "ScatterElements", "index 7 is outside axis 0, which has 4"},
    {"ScatterSum",
     "[%y : f32[4]] = ScatterElements.18[%x, %at, %one] {axis = 0, reduction = \"add\"}",
     "ScatterElements", "index 7 is outside axis 0, which has 4"},
    {"ScatterND", "[%y : f32[4]] = ScatterND.18[%x, %at, %scalar] {reduction = \"none\"}",
     "ScatterND", "index 7 is outside axis 0, which has 4"},
    {"Mod", "[%y : i64[1]] = Mod.13[%at, %zero] {fmod = 0}", "Mod", "integer division by zero"},
};

/// With the case's operation in the main graph, of known or unknown shapes.
std::string graph_of(const ErrorCase& tried, const char* input) {
  return std::string("fact \"source.pick\" = \"model.py:42 (encoder)\"\n") +
         "subgraph @0 \"main\" {\n  input %x : " + input +
         "\n  input %at : i64[1]\n  const %one : f32[1] = [1.0]\n  const %scalar : f32[] = [1.0]\n"
         "  const %zero : i64[1] = [0]\n  " +
         tried.operation + " \"pick\"\n  output [%y]\n}\n";
}

/// The message of the failed run; in parts where `in_parts`.
std::string error_of(const std::string& text, const std::string& backend, bool in_parts = false) {
  LoadOptions options;
  options.num_threads = 1;
  auto model = LoadedModel::load(executable_of(text, backend), registry(), options);
  if (!model.is_ok()) return "load: " + model.status().to_string();
  auto context = model->create_context();
  if (!context.is_ok()) return "context: " + context.status().to_string();
  Aligned<float> x({1, 2, 3, 4});
  Aligned<std::int64_t> at({7});
  EXPECT_TRUE(context->set_input(0, f32_view(x, {4})).is_ok());
  EXPECT_TRUE(context->set_input(1, i64_view(at, {1})).is_ok());
  if (!in_parts) return context->run().message();
  Status status = context->begin();
  if (status.is_ok()) status = context->submit_segment(0);
  while (status.is_ok()) {
    const auto polled = context->poll_segment(0);
    status = polled.status();
    if (polled.is_ok() && *polled) return "";
  }
  return status.message();
}

class NodeErrors : public ::testing::TestWithParam<std::string> {
 protected:
  static void expect_named(const ErrorCase& tried, const std::string& message) {
    const std::string node = "node \"pick\" (" + tried.kind + "), model.py:42 (encoder)";
    EXPECT_THAT(message, HasSubstr(node)) << tried.name;
    EXPECT_THAT(message, HasSubstr(tried.says)) << tried.name;
    EXPECT_EQ(message.find("\"pick\""), message.rfind("\"pick\"")) << message;
    EXPECT_EQ(message.find("model.py"), message.rfind("model.py")) << message;
  }
};

TEST_P(NodeErrors, NameNodeSourceAndValue) {
  for (const ErrorCase& tried : kCases) {
    expect_named(tried, error_of(graph_of(tried, "f32[4]"), GetParam()));
  }
}

TEST_P(NodeErrors, AreTheSameForShapesThatOnlyTheRunKnows) {
  const ErrorCase gather = {"Gather", "[%y : f32[1]] = Gather.13[%x, %at] {axis = 0}", "Gather",
                            "index 7 is outside axis 0, which has 4"};
  expect_named(gather, error_of(graph_of(gather, "f32[N]"), GetParam()));
}

TEST_P(NodeErrors, AreTheSameForARunInParts) {
  expect_named(kCases[0], error_of(graph_of(kCases[0], "f32[4]"), GetParam(), true));
}

TEST_P(NodeErrors, ErrorsInABodyNameItsNode) {
  const std::string text = R"ir(
fact "source.pick" = "model.py:42 (encoder)"
subgraph @0 "main" {
  input %x : f32[4]
  input %at : i64[1]
  const %count : i64[] = [2]
  const %true : bool[] = hex 01
  [%y : f32[2,1]] = Loop.25[%count, %true, %x, %at] {
    body = @1, captures = 2} "loop"
  output [%y]
}
subgraph @1 "body" {
  input %i : i64[]
  input %go : bool[]
  input %x : f32[4]
  input %at : i64[1]
  [%row : f32[1]] = Gather.13[%x, %at] {
    axis = 0} "pick"
  output [%go, %row]
}
)ir";
  expect_named(kCases[0], error_of(text, GetParam()));
}

TEST_P(NodeErrors, ErrorsOfExecutorStepsNameTheNode) {
  const std::string text = R"ir(
fact "source.pick" = "model.py:42 (encoder)"
subgraph @0 "main" {
  input %x : f32[4]
  input %at : i64[1]
  const %place : i64[] = [7]
  [%all : seq(f32[4])] = SequenceConstruct.11[%x]
  [%y : f32[4]] = SequenceAt.11[%all, %place] "pick"
  output [%y]
}
)ir";
  expect_named({"SequenceAt", "", "SequenceAt", "position 7 is outside a sequence of 1 items"},
               error_of(text, GetParam()));
}

TEST_P(NodeErrors, ErrorsOfALoadNameTheNode) {
  const std::string text = R"ir(
fact "source.pick" = "model.py:42 (encoder)"
subgraph @0 "main" {
  input %x : f32[4]
  input %at : i64[1]
  [%y : f32[1]] = ReduceSum.13[%x] {
    axes = [0], keepdims = 1} "pick"
  output [%y]
}
)ir";
  const std::string message = error_of(text, GetParam());
  EXPECT_THAT(message, HasSubstr("node \"pick\" (ReduceSum), model.py:42 (encoder)"));
  EXPECT_THAT(message, HasSubstr("attribute \"axes\""));
}

INSTANTIATE_TEST_SUITE_P(Backends, NodeErrors, ::testing::Values("reference", "cpu"),
                         [](const auto& backend) { return backend.param; });

}  // namespace
}  // namespace sluice::exec
