#include "trace/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/source.h"
#include "ir/verify.h"

namespace sluice::trace {
namespace {

using ::testing::HasSubstr;

ir::Type type(std::string_view text) { return *ir::parse_type(text); }

/// The types of the outputs, or the error's message.
std::string record(Recorder& recorder, Recorded recorded) {
  const auto outputs = recorder.record(std::move(recorded));
  if (!outputs.is_ok()) return outputs.status().message();
  std::string types;
  for (const ir::OperandId output : *outputs) types += recorder.type(output).to_string() + " ";
  return types;
}

TEST(Recorder, InfersTypesAsItRecords) {
  Recorder recorder;
  const auto x = *recorder.add_input("x", type("f32[N,4]"));
  const auto w = *recorder.add_constant("w", ir::make_f32_constant({1, 2, 3, 4}, {4, 1}));
  EXPECT_EQ(record(recorder, {.kind = "MatMul", .inputs = {x, w}}), "f32[N,1] ");
  ir::Attributes halves;
  halves.set("axis", std::int64_t{1});
  halves.set("num_outputs", std::int64_t{2});
  EXPECT_EQ(
      record(recorder, {.kind = "Split", .inputs = {x}, .num_outputs = 2, .attributes = halves}),
      "f32[N,2] f32[N,2] ");
}

TEST(Recorder, RefusesWhatOperatorsRefuseAndStaysAsItWas) {
  Recorder recorder;
  const auto x = *recorder.add_input("x", type("f32[2,3]"));
  const auto y = *recorder.add_input("y", type("f32[4]"));
  EXPECT_THAT(record(recorder, {.kind = "Add", .inputs = {x, y}}),
              HasSubstr("shapes [2,3] and [4] do not broadcast"));
  EXPECT_THAT(record(recorder, {.kind = "Ad", .inputs = {x, y}}), HasSubstr("no operator Ad"));
  EXPECT_THAT(record(recorder, {.kind = "Add", .inputs = {x}}), HasSubstr("is missing"));
  EXPECT_THAT(record(recorder, {.kind = "Add", .inputs = {x, ir::OperandId(std::size_t{99})}}),
              HasSubstr("does not exist"));
  EXPECT_THAT(record(recorder, {.kind = "If", .inputs = {x}}), HasSubstr("is missing"));
  ASSERT_TRUE(recorder.add_output("z", x).is_ok());
  EXPECT_EQ(recorder.graph()->main().num_operations(), 1U);
}

TEST(Recorder, NamesOfInputsAndOutputsAreUnique) {
  Recorder recorder;
  const auto x = *recorder.add_input("x", type("f32[2]"));
  EXPECT_FALSE(recorder.add_input("x", type("f32[2]")).is_ok());
  EXPECT_FALSE(recorder.add_input("", type("f32[2]")).is_ok());
  EXPECT_FALSE(recorder.add_input("s", ir::Type::sequence(type("f32[2]"))).is_ok());
  EXPECT_FALSE(recorder.graph().is_ok()) << "there is no output";
  EXPECT_FALSE(recorder.add_output("x", x).is_ok());
  ASSERT_TRUE(recorder.add_output("same", x).is_ok());
  ASSERT_TRUE(recorder.add_output("again", x).is_ok());
  const auto graph = recorder.graph();
  ASSERT_TRUE(graph.is_ok()) << graph.status().message();
  EXPECT_TRUE(ir::verify(*graph).is_ok());
}

TEST(Recorder, OperationsKeepTheirSource) {
  Recorder recorder;
  const auto x = *recorder.add_input("x", type("f32[N]"));
  const auto y = recorder.record({.kind = "Relu", .inputs = {x}, .source = "net.cc:12"});
  ASSERT_TRUE(recorder.add_output("y", y->front()).is_ok());
  const auto graph = recorder.graph();
  const ir::Operation& relu = graph->main().operation(graph->main().order().front());
  EXPECT_EQ(ir::describe(*graph, relu), "node \"Relu_0\" (Relu), net.cc:12");
  EXPECT_EQ(graph->metadata.at("batch_symbol"), "N");
}

/// An old form of an operator becomes today's, in which the bounds are inputs.
TEST(Recorder, OldVersionsAreUpgraded) {
  Recorder recorder;
  const auto x = *recorder.add_input("x", type("f32[3]"));
  ir::Attributes bounds;
  bounds.set("min", 0.0F);
  bounds.set("max", 6.0F);
  EXPECT_EQ(record(recorder, {.kind = "Clip", .version = 6, .inputs = {x}, .attributes = bounds}),
            "f32[3] ");
}

}  // namespace
}  // namespace sluice::trace
