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

std::vector<OperationId> ids(std::span<const OperationId> of) { return {of.begin(), of.end()}; }

class GraphTest : public ::testing::Test {
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

TEST_F(GraphTest, UseIndexTakesInAChangedOperation) {
  UseIndex uses(main_);
  uses.remove(main_, neg_);
  main_.operation(neg_).inputs = {x_};
  uses.add(main_, neg_);
  EXPECT_EQ(uses.num_readers(y_), 0U);
  EXPECT_EQ(ids(uses.readers(x_)), (std::vector<OperationId>{relu_, neg_}));
  EXPECT_EQ(uses.producer(z_), neg_);
}

TEST_F(GraphTest, UseIndexForgetsAsManyReadsAsTheOperationHad) {
  main_.operation(neg_).inputs = {y_, y_};
  UseIndex uses(main_);
  EXPECT_EQ(uses.num_readers(y_), 2U);
  uses.remove(main_, neg_);
  EXPECT_FALSE(uses.producer(z_).is_valid());
  main_.operation(neg_).inputs = {y_};
  uses.add(main_, neg_);
  EXPECT_EQ(ids(uses.readers(y_)), (std::vector<OperationId>{neg_}));
  EXPECT_TRUE(uses.has_single_use(y_));
}

TEST_F(GraphTest, UseIndexKnowsNothingOfLaterOperands) {
  const UseIndex uses(main_);
  const OperandId later = main_.add_operand({});
  EXPECT_FALSE(uses.producer(later).is_valid());
  EXPECT_TRUE(uses.readers(later).empty());
}

TEST_F(GraphTest, CompactDropsUnreferencedOperands) {
  main_.outputs = {y_};
  main_.remove_operation(neg_);
  main_.compact();
  EXPECT_EQ(main_.num_operations(), 1U);
  EXPECT_EQ(main_.num_operands(), 2U);
  EXPECT_EQ(main_.operand(main_.outputs[0]).name, "y");
}

TEST_F(GraphTest, InsertionKeepsTheOrder) {
  const OperandId mid = main_.add_operand({"mid", Type(), {}});
  const OperationId abs = main_.insert_operation(neg_, unary("Abs", y_, mid));
  EXPECT_EQ(ids(main_.order()), (std::vector<OperationId>{relu_, abs, neg_}));
}

TEST_F(GraphTest, EditsOfTheOrderMix) {
  const OperationId first = main_.insert_operation(relu_, unary("Abs", x_, {}));
  const OperationId last = main_.add_operation(unary("Exp", y_, {}));
  main_.remove_operation(relu_);
  main_.remove_operation(relu_);
  const OperationId before_last = main_.insert_operation(last, unary("Log", y_, {}));
  const OperationId at_end = main_.insert_operation(relu_, unary("Cos", y_, {}));
  const std::vector<OperationId> wanted = {first, neg_, before_last, last, at_end};
  EXPECT_EQ(ids(main_.order()), wanted);
  Subgraph copy = main_;
  copy.remove_operation(at_end);
  EXPECT_EQ(copy.num_operations(), 4U);
  EXPECT_EQ(ids(main_.order()), wanted);
}

TEST_F(GraphTest, SetOrderEndsEdits) {
  main_.insert_operation(neg_, unary("Abs", y_, {}));
  main_.set_order({neg_, relu_});
  EXPECT_EQ(ids(main_.order()), (std::vector<OperationId>{neg_, relu_}));
}

TEST_F(GraphTest, EditTakesConstantTime) {
  const auto visits_of = [](int count) {
    Subgraph subgraph;
    OperationId last = subgraph.add_operation({});
    const WorkCounts before = work_counts;
    for (int i = 0; i < count; ++i) {
      const OperationId inserted = subgraph.insert_operation(last, Operation());
      if (i % 2 == 0) subgraph.remove_operation(inserted);
    }
    EXPECT_EQ(subgraph.num_operations(), static_cast<std::size_t>(count / 2 + 1));
    return (work_counts - before).visits;
  };
  EXPECT_LT(visits_of(5000), 11 * visits_of(500));
}

TEST(Attributes, AskingForAnotherKindFindsNothing) {
  Attributes attributes;
  attributes.set("axis", std::int64_t{1});
  EXPECT_EQ(attributes.get_or<std::int64_t>("axis", 0), 1);
  EXPECT_EQ(attributes.find<float>("axis"), nullptr);
}

}  // namespace
}  // namespace sluice::ir
