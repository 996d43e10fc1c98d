#include "ops/upgrade.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sluice::ops {
namespace {

class AttributeToInput : public testing::Test {
 protected:
  void set_data(ir::ElementType element) {
    operation_.inputs = {graph_.main().add_operand({"x", ir::Type::tensor(element), {}})};
  }
  const ir::Constant* constant(std::size_t input) {
    return graph_.main().find_constant(operation_.input(input));
  }
  std::uint16_t f16_bound(float value) {
    set_data(ir::ElementType::kF16);
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
  EXPECT_EQ(f16_bound(1.0F), 0x3c00);
  EXPECT_EQ(constant(1)->type.to_string(), "f16[]");
}

TEST_F(AttributeToInput, AnUnknownTypeIsTakenFromTheDataLater) {
  operation_.inputs = {graph_.main().add_operand({})};
  operation_.attributes.set("max", 6.0F);
  attribute_to_input_like_data(graph_.main(), operation_, "max", 1);
  ASSERT_EQ(graph_.main().num_operations(), 1U);
  const ir::Operation& cast = graph_.main().operation(graph_.main().order()[0]);
  EXPECT_EQ(cast.kind, "CastLike");
  EXPECT_EQ(cast.inputs[1], operation_.input(0));
  EXPECT_EQ(operation_.input(1), cast.output(0));
}

class UpgradeBroadcast : public testing::Test {
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

TEST_F(UpgradeBroadcast, AnInnerAxisTakesTrailingOnes) {
  ASSERT_TRUE(upgrade(1, ir::Shape{2, 3, 4, 5}, ir::Shape{3}).is_ok());
  const ir::Operation& added = graph_.main().operation(graph_.main().order()[0]);
  EXPECT_EQ(added.kind, "Unsqueeze");
  EXPECT_EQ(*ir::integer_values(*graph_.main().find_constant(added.input(1))),
            (std::vector<std::int64_t>{-1, -2}));
  EXPECT_EQ(operation_.input(1), added.output(0));
  EXPECT_EQ(operation_.version, 14);
}

TEST_F(UpgradeBroadcast, TheLastAxisNeedsNothing) {
  ASSERT_TRUE(upgrade(1, ir::Shape{2, 3}, ir::Shape{3}).is_ok());
  EXPECT_EQ(graph_.main().num_operations(), 0U);
  EXPECT_FALSE(operation_.attributes.contains("axis"));
}

TEST_F(UpgradeBroadcast, UnknownRanksAndMismatchesAreRefused) {
  EXPECT_EQ(upgrade(1, std::nullopt, ir::Shape{3}).code(), Code::kUnimplemented);
  operation_.inputs.clear();
  EXPECT_EQ(upgrade(2, ir::Shape{2, 3}, ir::Shape{3}).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace sluice::ops
