#include "ops/upgrade.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "ops/inference.h"

namespace sluice::ops {
namespace {

class AttributeToInput : public ::testing::Test {
 protected:
  void set_data(ir::ElementType element) {
    operation_.inputs = {graph_.main().add_operand({"x", ir::Type::tensor(element), {}})};
  }
  const ir::Constant* constant(std::size_t input) {
    return graph_.main().find_constant(operation_.input(input));
  }
  std::uint16_t bound(ir::ElementType element, float value) {
    set_data(element);
    operation_.attributes.set("max", value);
    attribute_to_input_like_data(graph_.main(), operation_, "max", 1);
    std::uint16_t bits = 0;
    std::memcpy(&bits, constant(1)->data.data(), sizeof(bits));
    return bits;
  }
  ir::Graph graph_;
  ir::Operation operation_;
};

TEST_F(AttributeToInput, IntsBecomeAVectorAndTheAttributeIsRemoved) {
  set_data(ir::ElementType::kF32);
  operation_.attributes.set("axes", std::vector<std::int64_t>{0, 2});
  attribute_to_input(graph_.main(), operation_, "axes", 1);
  ASSERT_NE(constant(1), nullptr);
  EXPECT_EQ(constant(1)->type.to_string(), "i64[2]");
  EXPECT_EQ(*ir::integer_values(*constant(1)), (std::vector<std::int64_t>{0, 2}));
  EXPECT_FALSE(operation_.attributes.contains("axes"));
}

TEST_F(AttributeToInput, AbsentAttributeAddsNoInput) {
  set_data(ir::ElementType::kF32);
  attribute_to_input(graph_.main(), operation_, "axes", 1);
  EXPECT_EQ(operation_.inputs.size(), 1U);
}

TEST_F(AttributeToInput, SkippedInputsAreAbsent) {
  set_data(ir::ElementType::kF64);
  operation_.attributes.set("max", 6.0F);
  attribute_to_input_like_data(graph_.main(), operation_, "max", 2);
  EXPECT_FALSE(operation_.input(1).is_valid());
  EXPECT_EQ(constant(2)->type.to_string(), "f64[]");
  EXPECT_EQ(*ir::float_values(*constant(2)), std::vector<double>{6.0});
}

TEST_F(AttributeToInput, BoundsOfHalvesAreHalves) {
  EXPECT_EQ(bound(ir::ElementType::kF16, 1.0F), 0x3c00);
  EXPECT_EQ(constant(1)->type.to_string(), "f16[]");
  EXPECT_EQ(bound(ir::ElementType::kBf16, 1.0F), 0x3f80);
  EXPECT_EQ(constant(1)->type.to_string(), "bf16[]");
}

TEST_F(AttributeToInput, UnknownTypeIsTakenFromTheDataLater) {
  operation_.inputs = {graph_.main().add_operand({})};
  operation_.attributes.set("max", 6.0F);
  attribute_to_input_like_data(graph_.main(), operation_, "max", 1);
  ASSERT_EQ(graph_.main().num_operations(), 1U);
  const ir::Operation& cast = graph_.main().operation(graph_.main().order()[0]);
  EXPECT_EQ(cast.kind, "CastLike");
  EXPECT_EQ(cast.inputs[1], operation_.input(0));
  EXPECT_EQ(operation_.input(1), cast.output(0));
}

class UpgradeBroadcast : public ::testing::Test {
 protected:
  UpgradeBroadcast() { operation_.kind = "Add"; }
  Status upgrade(std::int64_t axis, std::optional<ir::Shape> a, std::optional<ir::Shape> b) {
    for (auto& shape : {a, b}) {
      operation_.inputs.push_back(
          graph_.main().add_operand({"", ir::Type::tensor(ir::ElementType::kF32, shape), {}}));
    }
    operation_.version = 6;
    operation_.attributes.set("broadcast", std::int64_t{1});
    operation_.attributes.set("axis", axis);
    return upgrade_broadcast(graph_.main(), operation_);
  }
  ir::Graph graph_;
  ir::Operation operation_;
};

TEST_F(UpgradeBroadcast, InnerAxisTakesTrailingOnes) {
  ASSERT_TRUE(upgrade(1, ir::Shape{2, 3, 4, 5}, ir::Shape{3}).is_ok());
  const ir::Operation& added = graph_.main().operation(graph_.main().order()[0]);
  EXPECT_EQ(added.kind, "Unsqueeze");
  EXPECT_EQ(*ir::integer_values(*graph_.main().find_constant(added.input(1))),
            (std::vector<std::int64_t>{-1, -2}));
  EXPECT_EQ(operation_.input(1), added.output(0));
  EXPECT_EQ(operation_.version, 14);
}

TEST_F(UpgradeBroadcast, LastAxisNeedsNothing) {
  ASSERT_TRUE(upgrade(1, ir::Shape{2, 3}, ir::Shape{3}).is_ok());
  EXPECT_EQ(graph_.main().num_operations(), 0U);
  EXPECT_FALSE(operation_.attributes.contains("axis"));
}

TEST_F(UpgradeBroadcast, UnknownRanksAndMismatchesAreRefused) {
  EXPECT_EQ(upgrade(1, std::nullopt, ir::Shape{3}).code(), Code::kUnimplemented);
  operation_.inputs.clear();
  EXPECT_EQ(upgrade(2, ir::Shape{2, 3}, ir::Shape{3}).code(), Code::kInvalidArgument);
}

/// Normalizes an operation of the newest version with inputs of f32, one of them per name.
Status normalize_newest(std::string_view kind, std::string_view attribute, bool has_output = true) {
  const OpSchema& schema = *find_schema("", kind);
  ir::Graph graph;
  ir::Operation operation;
  operation.kind = kind;
  operation.name = "node";
  operation.version = schema.newest_version();
  for (std::size_t i = 0; i < schema.inputs.size(); ++i) {
    operation.inputs.push_back(graph.main().add_operand({}));
  }
  operation.outputs = {has_output ? graph.main().add_operand({}) : ir::OperandId()};
  for (const AttributeSpec& spec : schema.attributes) {
    if (spec.is_required) operation.attributes.set(std::string(spec.name), std::int64_t{0});
  }
  if (!attribute.empty()) operation.attributes.set(std::string(attribute), std::int64_t{1});
  return normalize(schema, graph.main(), operation);
}

TEST(Normalize, RefusesAttributesThatBecameInputs) {
  const std::pair<const char*, const char*> left[] = {
      {"ReduceSum", "axes"}, {"ReduceMax", "axes"}, {"ReduceMean", "axes"}, {"ReduceL2", "axes"},
      {"Squeeze", "axes"},   {"Unsqueeze", "axes"}, {"Slice", "starts"},    {"Slice", "ends"},
      {"Pad", "pads"},       {"Split", "split"},    {"Clip", "min"},        {"Clip", "max"}};
  for (const auto& [kind, attribute] : left) {
    EXPECT_TRUE(normalize_newest(kind, "").is_ok()) << normalize_newest(kind, "").to_string();
    const Status status = normalize_newest(kind, attribute);
    EXPECT_NE(status.message().find(std::string("attribute \"") + attribute + "\""),
              std::string::npos)
        << kind << ": " << status.to_string();
    EXPECT_NE(status.message().find("node \"node\""), std::string::npos) << status.to_string();
  }
}

TEST(Normalize, RefusesOperationsWithoutOutputs) {
  for (const char* kind : {"Div", "Min", "ReduceProd", "Dropout", "IsInf", "Where", "Flatten"}) {
    EXPECT_TRUE(normalize_newest(kind, "").is_ok()) << kind;
    EXPECT_FALSE(normalize_newest(kind, "", false).is_ok()) << kind;
  }
}

TEST(InferOperation, RefusesOperationsWithoutOutputs) {
  for (const char* kind : {"Div", "Min", "ReduceProd", "Dropout", "IsInf", "Where", "Flatten"}) {
    ir::Operation operation;
    operation.kind = kind;
    operation.version = find_schema("", kind)->newest_version();
    const OperandFacts fact = {ir::Type::tensor(ir::ElementType::kF32, ir::Shape{2}), {}, {}};
    const std::vector<const OperandFacts*> inputs(3, &fact);
    operation.inputs = {ir::OperandId(std::size_t{0}), ir::OperandId(std::size_t{1})};
    InferenceContext context(operation, std::span(inputs).first(2));
    EXPECT_FALSE(infer_operation(context).is_ok()) << kind;
  }
}

}  // namespace
}  // namespace sluice::ops
