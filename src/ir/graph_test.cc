#include "ir/graph.h"

#include <gtest/gtest.h>

namespace sluice::ir {
namespace {

Operation unary(std::string kind, OperandId input, OperandId output) {
  Operation operation;
  operation.kind = std::move(kind);
  operation.inputs = {input};
  operation.outputs = {output};
  return operation;
}

class GraphTest : public testing::Test {
 protected:
  GraphTest() {
    x_ = main_.add_operand({"x", Type::tensor(ElementType::kF32, Shape{4}), {}});
    y_ = main_.add_operand({"y", Type::tensor(ElementType::kF32, Shape{4}), {}});
    z_ = main_.add_operand({"z", Type::tensor(ElementType::kF32, Shape{4}), {}});
    main_.inputs = {x_};
    relu_ = main_.add_operation(unary("Relu", x_, y_));
    neg_ = main_.add_operation(unary("Neg", y_, z_));
    main_.outputs = {z_};
  }

  Graph graph_;
  Subgraph& main_ = graph_.main();
  OperandId x_, y_, z_;
  OperationId relu_, neg_;
};

TEST_F(GraphTest, UseIndexKnowsProducersAndReaders) {
  const UseIndex uses(main_);
  EXPECT_EQ(uses.producer(y_), relu_);
  EXPECT_FALSE(uses.producer(x_).is_valid());
  EXPECT_TRUE(uses.has_single_use(y_));
  EXPECT_FALSE(uses.has_single_use(z_)) << "an output of the subgraph is used outside";
}

TEST_F(GraphTest, ReplaceUsesReachesOutputs) {
  main_.replace_uses(z_, y_);
  EXPECT_EQ(main_.outputs[0], y_);
}

TEST_F(GraphTest, CompactDropsUnreferencedOperands) {
  main_.replace_uses(z_, y_);
  main_.remove_operation(neg_);
  main_.compact();
  EXPECT_EQ(main_.num_operations(), 1U);
  EXPECT_EQ(main_.num_operands(), 2U);
  EXPECT_EQ(main_.operand(main_.outputs[0]).name, "y");
}

TEST_F(GraphTest, InsertionKeepsTheOrder) {
  const OperandId mid = main_.add_operand({"mid", Type(), {}});
  const OperationId abs = main_.insert_operation(neg_, unary("Abs", y_, mid));
  EXPECT_EQ(std::vector<OperationId>(main_.order().begin(), main_.order().end()),
            (std::vector<OperationId>{relu_, abs, neg_}));
}

TEST(Attributes, AskingForAnotherKindFindsNothing) {
  Attributes attributes;
  attributes.set("axis", std::int64_t{1});
  EXPECT_EQ(attributes.get_or<std::int64_t>("axis", 0), 1);
  EXPECT_EQ(attributes.find<float>("axis"), nullptr);
}

}  // namespace
}  // namespace sluice::ir
