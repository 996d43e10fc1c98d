#include "ir/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::ir {
namespace {

using ::testing::HasSubstr;

Operand tensor(std::string name) {
  return {std::move(name), Type::tensor(ElementType::kF32, Shape{2}), std::nullopt};
}

Operation op(std::string kind, std::vector<OperandId> inputs, std::vector<OperandId> outputs) {
  Operation operation;
  operation.kind = std::move(kind);
  operation.name = "n";
  operation.inputs = std::move(inputs);
  operation.outputs = std::move(outputs);
  return operation;
}

/// x -> Relu -> y.
struct Small {
  Graph graph;
  OperandId x, y;
  OperationId relu;
  Small() {
    Subgraph& main = graph.main();
    x = main.add_operand(tensor("x"));
    y = main.add_operand(tensor("y"));
    main.inputs = {x};
    main.outputs = {y};
    relu = main.add_operation(op("Relu", {x}, {y}));
  }
};

void expect_refused(const Graph& graph, const std::string& why) {
  const Status status = verify(graph);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(why));
}

TEST(Verify, AcceptsAWellFormedGraph) { EXPECT_TRUE(verify(Small().graph).is_ok()); }

TEST(Verify, RefusesReadBeforeWrite) {
  Small small;
  const OperandId z = small.graph.main().add_operand(tensor("z"));
  small.graph.main().operation(small.relu).inputs = {z};
  expect_refused(small.graph, "operand \"z\" is read before it is written");
}

TEST(Verify, RefusesASecondWriter) {
  Small small;
  small.graph.main().add_operation(op("Relu", {small.x}, {small.y}));
  expect_refused(small.graph, "operand \"y\" is written twice");
}

TEST(Verify, RefusesAWrittenConstant) {
  Small small;
  small.graph.main().operand(small.y).constant = make_f32_constant({1, 2}, {2});
  expect_refused(small.graph, "\"y\" is written twice, or is a constant");
}

TEST(Verify, RefusesIdsThatDoNotExist) {
  Small small;
  small.graph.main().operation(small.relu).inputs = {OperandId(std::size_t{7})};
  expect_refused(small.graph, "operand %7 does not exist");
  Small below;
  below.graph.main().outputs = {OperandId(-2)};
  expect_refused(below.graph, "operand %-2 does not exist");
}

TEST(Verify, RefusesEqualNames) {
  Small small;
  small.graph.main().operand(small.y).name = "x";
  expect_refused(small.graph, "two operands are named \"x\"");
}

TEST(Verify, RefusesAnOutputWithoutType) {
  Small small;
  small.graph.main().operand(small.y).type = Type();
  expect_refused(small.graph, "operand \"y\" has no type");
}

TEST(Verify, RefusesASubgraphThatContainsItself) {
  Small small;
  const SubgraphId inner = small.graph.add_subgraph("inner");
  Operation recursive = op("If", {}, {});
  recursive.attributes.set("then_branch", inner);
  small.graph.subgraph(inner).add_operation(recursive);
  expect_refused(small.graph, "contains itself");
}

TEST(Verify, RefusesASubgraphThatDoesNotExist) {
  Small small;
  small.graph.main()
      .operation(small.relu)
      .attributes.set("branches", std::vector<SubgraphId>{SubgraphId(std::size_t{4})});
  expect_refused(small.graph, "subgraph 4 does not exist");
}

TEST(Verify, RefusesConstantsOfAnotherSize) {
  Constant constant = make_f32_constant({1, 2, 3}, {3});
  EXPECT_TRUE(verify_constant(constant).is_ok());
  constant.type = constant.type.with_shape(Shape{4});
  EXPECT_FALSE(verify_constant(constant).is_ok());
  constant.type = constant.type.with_shape(Shape{Dim::symbol("N")});
  EXPECT_FALSE(verify_constant(constant).is_ok());
}

TEST(Verify, RefusesStringOffsetsOutsideTheData) {
  const auto strings = [](const std::vector<std::int64_t>& words) {
    Constant constant = make_i64_constant(words, {});
    constant.type = Type::tensor(ElementType::kString, Shape{1});
    return constant;
  };
  EXPECT_TRUE(verify_constant(strings({0, 8, 0x6161616161616161})).is_ok());
  EXPECT_FALSE(verify_constant(strings({0, 9, 0x6161616161616161})).is_ok());
  EXPECT_FALSE(verify_constant(strings({0, 7, 0x6161616161616161})).is_ok());
  EXPECT_FALSE(verify_constant(strings({-1, 8, 0x6161616161616161})).is_ok());
  EXPECT_FALSE(verify_constant(strings({0})).is_ok());
}

TEST(Verify, RefusesABodyOfAnotherArity) {
  Small small;
  const SubgraphId id = small.graph.add_subgraph("body");
  Subgraph& body = small.graph.subgraph(id);
  const OperandId in = body.add_operand(tensor("in"));
  body.inputs = {in};
  body.outputs = {in};
  small.graph.main().operation(small.relu).body = Body{id, {}};
  EXPECT_TRUE(verify(small.graph).is_ok());
  small.graph.main().operation(small.relu).body = Body{id, {small.x}};
  expect_refused(small.graph, "body: takes 1 input but gets 2");
}

/// Adds a subgraph that is run by `caller`, an operation of subgraph `outer`.
SubgraphId add_branch(Graph& graph, SubgraphId outer) {
  const SubgraphId inner = graph.add_subgraph("inner");
  Operation run = op("If", {}, {});
  run.attributes.set("then_branch", inner);
  graph.subgraph(outer).add_operation(std::move(run));
  return inner;
}

TEST(Verify, RefusesASubgraphThatTwoOperationsRun) {
  Small small;
  const SubgraphId inner = add_branch(small.graph, SubgraphId(std::size_t{0}));
  EXPECT_TRUE(verify(small.graph).is_ok());
  Operation again = op("If", {}, {});
  again.attributes.set("then_branch", inner);
  small.graph.main().add_operation(std::move(again));
  expect_refused(small.graph, "run by another operation too");
}

TEST(Verify, RefusesDeepNestingFromAnySubgraph) {
  for (const bool is_reversed : {false, true}) {
    Small small;
    std::vector<SubgraphId> ids;
    for (int i = 0; i < 70; ++i) ids.push_back(small.graph.add_subgraph("level"));
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      Operation run = op("If", {}, {});
      run.attributes.set("then_branch", is_reversed ? ids[i] : ids[i + 1]);
      small.graph.subgraph(is_reversed ? ids[i + 1] : ids[i]).add_operation(std::move(run));
    }
    expect_refused(small.graph, "nest deeper than 64");
  }
}

TEST(Verify, RefusesToRunTheMainSubgraph) {
  Small small;
  const SubgraphId inner = small.graph.add_subgraph("inner");
  Operation run = op("If", {}, {});
  run.attributes.set("then_branch", SubgraphId(std::size_t{0}));
  small.graph.subgraph(inner).add_operation(std::move(run));
  expect_refused(small.graph, "runs the main subgraph");
}

}  // namespace
}  // namespace sluice::ir
