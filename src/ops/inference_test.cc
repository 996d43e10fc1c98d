#include "ops/inference.h"

#include <gtest/gtest.h>

namespace sluice::ops {
namespace {

using ir::Dim;
using ir::Shape;

TEST(BroadcastShapes, StretchesOnesAndPrependsMissingDimensions) {
  EXPECT_EQ(broadcast_shapes({8, 1, 6, 1}, {7, 1, 5}).value(), (Shape{8, 7, 6, 5}));
}

TEST(BroadcastShapes, SymbolBroadcastWithNumberBecomesTheNumber) {
  EXPECT_EQ(broadcast_shapes({Dim::symbol("N"), 3}, {4, 3}).value(), (Shape{4, 3}));
  EXPECT_EQ(broadcast_shapes({Dim::symbol("N")}, {1}).value(), Shape{Dim::symbol("N")});
}

TEST(BroadcastShapes, TwoSymbolsGiveWhicheverIsNotOne) {
  const Dim n = Dim::symbol("N");
  const Dim m = Dim::symbol("M");
  const Shape both = broadcast_shapes({n, 3}, {m, 1}).value();
  EXPECT_NE(both[0], n);
  EXPECT_NE(both[0], m);
  EXPECT_EQ(broadcast_shapes({m}, {n, m}).value(), (Shape{n, m}));
  EXPECT_EQ(broadcast_shapes(both, {n, 3}).value(), both);
  const auto one_and_five = [](std::string_view name) {
    return std::optional<Dim>(name == "N" ? 1 : 5);
  };
  EXPECT_EQ(both[0].substitute(one_and_five), Dim(5));
}

TEST(BroadcastShapes, RefusesUnequalNumbers) {
  EXPECT_FALSE(broadcast_shapes({2, 3}, {2, 4}).is_ok());
}

TEST(NormalizeAxis, NegativeAxesCountFromTheEndAndOthersAreRefused) {
  EXPECT_EQ(normalize_axis(-1, 4).value(), 3);
  EXPECT_FALSE(normalize_axis(4, 4).is_ok());
  EXPECT_FALSE(normalize_axis(-5, 4).is_ok());
}

TEST(InferenceContext, BodysInputsAreNotTakenForAbsentInputs) {
  ir::Operation operation;
  operation.inputs.resize(1);
  operation.outputs.resize(1);
  const OperandFacts data{ir::Type::tensor(ir::ElementType::kF32, Shape{2}), {}, {}};
  const OperandFacts body{ir::Type::tensor(ir::ElementType::kI64, Shape{1}), Values{Dim(0)}, {}};
  const std::vector<const OperandFacts*> facts = {&data, &body};
  const InferenceContext context(operation, facts);
  EXPECT_FALSE(context.has_input(1));
  EXPECT_EQ(context.values(1), nullptr);
  EXPECT_EQ(context.body_inputs(), std::vector{body.type});
}

TEST(FactsOf, LongFloatConstantsHaveNoKnownValues) {
  const auto facts_of_ones = [](std::int64_t count) {
    const ir::Type type = ir::Type::tensor(ir::ElementType::kF32, Shape{count});
    const std::vector<float> ones(static_cast<std::size_t>(count), 1.0F);
    ir::Operand operand{"w", type, {}};
    operand.constant =
        ir::Constant{type, MutableBytes::copy_of(std::as_bytes(std::span(ones))).freeze()};
    return facts_of(operand);
  };
  EXPECT_EQ(facts_of_ones(8).float_values, FloatValues(8, 1.0));
  EXPECT_EQ(facts_of_ones(65).float_values, std::nullopt);
}

class InferTypes : public ::testing::Test {
 protected:
  InferTypes() {
    x_ = main().add_operand({"x", ir::Type::tensor(ir::ElementType::kF32, Shape{2, 3}), {}});
    y_ = main().add_operand({"y", {}, {}});
    main().inputs = {x_};
    main().outputs = {y_};
  }
  ir::Subgraph& main() { return graph_.main(); }

  void add(std::string kind) {
    ir::Operation operation;
    operation.kind = std::move(kind);
    operation.version = 14;
    operation.name = "n1";
    operation.inputs = {x_};
    operation.outputs = {y_};
    main().add_operation(std::move(operation));
  }

  ir::Graph graph_;
  ir::OperandId x_, y_;
};

TEST_F(InferTypes, FillsInOutputs) {
  add("Relu");
  ASSERT_TRUE(infer_types(graph_).is_ok());
  EXPECT_EQ(main().operand(y_).type.to_string(), "f32[2,3]");
}

TEST_F(InferTypes, UnknownOperatorIsNamed) {
  add("Frobnicate");
  EXPECT_EQ(infer_types(graph_).to_string(),
            "unimplemented: node \"n1\" (Frobnicate): no such operator");
}

TEST_F(InferTypes, WrongElementTypeErrorNamesNodeInputAndAllowedTypes) {
  main().operand(x_).type = ir::Type::tensor(ir::ElementType::kString, Shape{2});
  add("Relu");
  const Status status = infer_types(graph_);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("n1"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("string"), std::string::npos) << status.message();
}

TEST_F(InferTypes, ContradictionOfADeclaredTypeIsAnError) {
  main().operand(y_).type = ir::Type::tensor(ir::ElementType::kF32, Shape{2, 4});
  add("Relu");
  EXPECT_EQ(infer_types(graph_).code(), Code::kInvalidArgument);
}

TEST_F(InferTypes, StaleShapeIsReplacedWhereThatIsAskedFor) {
  main().operand(y_).type = ir::Type::tensor(ir::ElementType::kF32, Shape{2, 4});
  add("Relu");
  std::vector<std::string> stale;
  ASSERT_TRUE(infer_types(graph_, &stale).is_ok());
  EXPECT_EQ(main().operand(y_).type.to_string(), "f32[2,3]");
  ASSERT_EQ(stale.size(), 1U);
  EXPECT_NE(stale[0].find("declared as f32[2,4]"), std::string::npos) << stale[0];

  main().operand(y_).type = ir::Type::tensor(ir::ElementType::kF64, Shape{2, 3});
  EXPECT_EQ(infer_types(graph_, &stale).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace sluice::ops
