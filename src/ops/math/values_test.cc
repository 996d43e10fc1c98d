// Shape arithmetic, followed through small graphs with a symbol for the batch.
#include "ops/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sluice::ops {
namespace {

using Ints = std::vector<std::int64_t>;

class ShapeArithmetic : public ::testing::Test {
 protected:
  ShapeArithmetic() {
    const auto n = ir::Dim::symbol("N");
    x_ = main().add_operand({"x", ir::Type::tensor(ir::ElementType::kF32, {{n, 12, 64}}), {}});
    main().inputs = {x_};
  }
  ir::Subgraph& main() { return graph_.main(); }

  ir::OperandId ints(const Ints& values) {
    return main().add_constant(
        "", ir::make_i64_constant(values, {static_cast<std::int64_t>(values.size())}));
  }
  ir::OperandId scalar(std::int64_t value) {
    return main().add_constant("", ir::make_i64_constant({value}, {}));
  }

  /// Adds an operation as the importer would; yields its first output.
  ir::OperandId add(const std::string& kind, std::vector<ir::OperandId> inputs,
                    const std::map<std::string, ir::Attribute>& attributes = {}, int opset = 18) {
    const OpSchema* schema = find_schema("", kind);
    EXPECT_NE(schema, nullptr) << kind;
    ir::Operation operation;
    operation.kind = kind;
    operation.version = version_in_opset(*schema, opset).value_or(0);
    operation.inputs = std::move(inputs);
    operation.outputs = {main().add_operand({})};
    for (const auto& [name, value] : attributes) operation.attributes.set(name, value);
    const Status status = normalize(*schema, main(), operation);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    const ir::OperandId output = operation.outputs[0];
    main().add_operation(std::move(operation));
    return output;
  }

  std::string type_of(ir::OperandId id) {
    const Status status = infer_types(graph_);
    return status.is_ok() ? main().operand(id).type.to_string() : status.to_string();
  }

  ir::Graph graph_;
  ir::OperandId x_;
};

TEST_F(ShapeArithmetic, ShapeGatherConcatReshape) {
  const auto shape = add("Shape", {x_});
  const auto batch = add("Gather", {shape, scalar(0)}, {{"axis", std::int64_t{0}}});
  const auto batches = add("Unsqueeze", {batch, ints({0})});
  const auto target = add("Concat", {batches, ints({-1})}, {{"axis", std::int64_t{0}}});
  EXPECT_EQ(type_of(add("Reshape", {x_, target})), "f32[N,768]");
}

TEST_F(ShapeArithmetic, SliceOfAShapeTimesANumberExpands) {
  const auto shape = add("Shape", {x_});
  const auto head = add("Slice", {shape, ints({0}), ints({1})});
  const auto twice = add("Mul", {head, ints({2})});
  EXPECT_EQ(type_of(add("ConstantOfShape", {twice})), "f32[2*N]");
  EXPECT_EQ(type_of(add("Expand", {ints({7}), twice})), "i64[2*N]");
}

TEST_F(ShapeArithmetic, AttributesOfOldVersionsBecomeInputs) {
  const Ints axes = {0};
  const auto more = add("Unsqueeze", {x_}, {{"axes", axes}}, 11);
  EXPECT_EQ(type_of(more), "f32[1,N,12,64]");
  EXPECT_EQ(type_of(add("Squeeze", {more}, {{"axes", axes}}, 11)), "f32[N,12,64]");
  EXPECT_EQ(type_of(add("ReduceSum", {more}, {{"axes", Ints{-1}}}, 11)), "f32[1,N,12,1]");
  EXPECT_EQ(type_of(add("ReduceMean", {more}, {{"axes", Ints{1}}}, 17)), "f32[1,1,12,64]");
  const std::map<std::string, ir::Attribute> cut = {
      {"starts", Ints{1}}, {"ends", Ints{5}}, {"axes", Ints{2}}};
  EXPECT_EQ(type_of(add("Slice", {x_}, cut, 9)), "f32[N,12,4]");
  EXPECT_EQ(type_of(add("Pad", {x_}, {{"pads", Ints{0, 0, 1, 0, 0, 2}}}, 7)), "f32[N,12,67]");
  EXPECT_EQ(type_of(add("Clip", {x_}, {{"max", 6.0F}}, 7)), "f32[N,12,64]");
}

TEST_F(ShapeArithmetic, RangeOverASymbolHasItsLength) {
  const auto batch = add("Gather", {add("Shape", {x_}), scalar(0)});
  EXPECT_EQ(type_of(add("Range", {scalar(0), batch, scalar(1)})), "i64[N]");
}

TEST_F(ShapeArithmetic, WhereTakesTheBranchOfAKnownComparison) {
  const auto shape = add("Shape", {x_});
  const auto is_minus_one = add("Equal", {shape, ints({-1})});
  EXPECT_EQ(type_of(add("Expand", {ints({1}), add("Where", {is_minus_one, ints({1}), shape})})),
            "i64[N,12,64]");
}

TEST_F(ShapeArithmetic, SlicesOfSymbolsAreExact) {
  const auto sliced = [&](std::int64_t start, std::int64_t end) {
    return type_of(add("Slice", {x_, ints({start}), ints({end}), ints({0})}));
  };
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(sliced(0, kEnd), "f32[N,12,64]");
  EXPECT_EQ(sliced(1, kEnd), "f32[max(N-1,0),12,64]");
  EXPECT_EQ(sliced(-1, kEnd), "f32[min(N,1),12,64]");
  EXPECT_EQ(sliced(0, -1), "f32[max(N-1,0),12,64]");
}

TEST_F(ShapeArithmetic, SliceBackwardsFromBeforeTheStartHasTheFirstElement) {
  const auto sliced = [&](std::int64_t start, std::int64_t end) {
    return type_of(add("Slice", {x_, ints({start}), ints({end}), ints({1}), ints({-1})}));
  };
  EXPECT_EQ(sliced(-20, -20), "f32[N,1,64]");
  EXPECT_EQ(sliced(-12, -20), "f32[N,1,64]");
  EXPECT_EQ(sliced(-12, -12), "f32[N,0,64]");
}

TEST_F(ShapeArithmetic, ReshapeRefusesAnotherNumberOfElements) {
  const auto y = add("Expand", {ints({1}), ints({2, 3})});
  EXPECT_NE(type_of(add("Reshape", {y, ints({4, 2})})).find("6 elements"), std::string::npos);
}

/// No run tells more of a list without elements.
TEST_F(ShapeArithmetic, ListWithoutElementsIsKnownBeforeTheRun) {
  const auto given = [&](ir::Shape shape) {
    const auto id = main().add_operand({"", ir::Type::tensor(ir::ElementType::kI64, shape), {}});
    main().inputs.push_back(id);
    return id;
  };
  const auto none = given({0});
  EXPECT_EQ(type_of(add("Expand", {x_, none})), "f32[N,12,64]");
  EXPECT_EQ(type_of(add("Unsqueeze", {x_, none})), "f32[N,12,64]");
  EXPECT_EQ(type_of(add("Squeeze", {x_, none})), "f32[N,12,64]");
  EXPECT_EQ(type_of(add("Slice", {x_, none, none})), "f32[N,12,64]");
  EXPECT_EQ(type_of(add("Tile", {scalar(7), none})), "i64[]");
  EXPECT_EQ(type_of(add("Reshape", {given({1, 1}), none})), "i64[]");
  EXPECT_EQ(type_of(add("ReduceSum", {x_, none}, {{"keepdims", std::int64_t{0}}})), "f32[]");
  EXPECT_THAT(type_of(add("Reshape", {given({0, 3, 4}), none})),
              ::testing::HasSubstr("[0,3,4] has 0 elements, the new shape [] takes 1"));
}

TEST_F(ShapeArithmetic, SplitThatDoesNotSumUpIsRefused) {
  const auto half = add("Split", {x_, ints({10})}, {{"axis", std::int64_t{1}}});
  EXPECT_NE(type_of(half).find("parts sum to 10"), std::string::npos);
}

TEST_F(ShapeArithmetic, DataDependentSizesAreUnknownInTheGraphAndBoundedInAPlan) {
  const auto y = add("Expand", {ints({1}), ints({2, 3})});
  const auto found = add("NonZero", {y});
  EXPECT_EQ(type_of(found).substr(0, 7), "i64[2,_");
  const ir::Operation& operation = main().operation(main().order().back());
  const OperandFacts facts = facts_of(main().operand(y));
  const OperandFacts* inputs[] = {&facts};
  InferenceContext context(operation, inputs);
  ASSERT_TRUE(infer_operation(context).is_ok());
  EXPECT_EQ(context.output(0).to_string(), "i64[2,6]");
}

TEST_F(ShapeArithmetic, NumberOfSelectedBoxesIsUnknownInTheGraph) {
  const auto f32 = [](ir::Shape shape) { return ir::Type::tensor(ir::ElementType::kF32, shape); };
  const auto boxes = main().add_operand({"boxes", f32({1, 6, 4}), {}});
  const auto scores = main().add_operand({"scores", f32({1, 2, 6}), {}});
  main().inputs = {boxes, scores};
  const auto kept = add("NonMaxSuppression", {boxes, scores, scalar(3)});
  EXPECT_EQ(type_of(kept).substr(0, 5), "i64[_");
}

TEST_F(ShapeArithmetic, BodyInputsDoNotCountAsOperationInputs) {
  ir::Operation sum;
  sum.kind = "ReduceSum";
  sum.inputs = {x_};
  sum.outputs = {x_};
  sum.attributes.set("keepdims", std::int64_t{0});
  sum.body = ir::Body{graph_.add_subgraph("body"), {x_}};
  const OperandFacts x = {ir::Type::tensor(ir::ElementType::kF32, ir::Shape{2, 3}), {}, {}};
  const OperandFacts one = {ir::Type::tensor(ir::ElementType::kF32, ir::Shape{}), {}, {}};
  const OperandFacts* inputs[] = {&x, &one};  // the second would be `axes`
  InferenceContext context(sum, inputs);
  ASSERT_TRUE(infer_operation(context).is_ok());
  EXPECT_FALSE(context.has_input(1));
  EXPECT_EQ(context.output(0).to_string(), "f32[]");
}

TEST_F(ShapeArithmetic, BodyDoesNotStretchTheResult) {
  ir::Operation norm;
  norm.kind = "Softmax";
  norm.inputs = {x_};
  norm.outputs = {x_};
  norm.body = ir::Body{graph_.add_subgraph("body"), {x_}};
  const auto is_taken = [&](const ir::Shape& result, const ir::Shape& body) {
    const OperandFacts facts[] = {{ir::Type::tensor(ir::ElementType::kF32, result), {}, {}},
                                  {ir::Type::tensor(ir::ElementType::kF32, body), {}, {}}};
    const OperandFacts* inputs[] = {&facts[0], &facts[1]};
    InferenceContext context(norm, inputs);
    return infer_operation(context).is_ok();
  };
  EXPECT_TRUE(is_taken({61, 4}, {1, 4}));
  EXPECT_TRUE(is_taken({61, 4}, {ir::Dim::symbol("N"), 1}));
  EXPECT_FALSE(is_taken({1, 4}, {61, 4}));
  EXPECT_FALSE(is_taken({4}, {1, 4}));
  EXPECT_FALSE(is_taken({61, 4}, {60, 4}));
}

TEST_F(ShapeArithmetic, ResultWhoseSizeDependsOnDataTakesNoBody) {
  ir::Operation select;
  select.kind = "NonZero";
  select.inputs = {x_};
  select.outputs = {x_};
  const OperandFacts x = {ir::Type::tensor(ir::ElementType::kF32, ir::Shape{2, 3}), {}, {}};
  const OperandFacts* inputs[] = {&x};
  InferenceContext plain(select, inputs);
  EXPECT_TRUE(infer_operation(plain).is_ok());
  select.body = ir::Body{graph_.add_subgraph("body"), {}};
  InferenceContext fused(select, inputs);
  EXPECT_THAT(infer_operation(fused).message(), ::testing::HasSubstr("takes no body"));
}

/// Sizes of the parts, or the message.
std::string parts_of(const ir::Dim& size, std::size_t count) {
  ir::Operation split;
  split.kind = "Split";
  split.version = 18;
  split.inputs = {ir::OperandId(0)};
  for (std::size_t i = 0; i < count; ++i) split.outputs.emplace_back(i + 1);
  split.attributes.set("axis", std::int64_t{0});
  split.attributes.set("num_outputs", static_cast<std::int64_t>(count));
  const OperandFacts x = {ir::Type::tensor(ir::ElementType::kF32, ir::Shape{size}), {}, {}};
  const OperandFacts* inputs[] = {&x};
  InferenceContext context(split, inputs);
  const Status status = infer_operation(context);
  if (!status.is_ok()) return status.message();
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += context.output(i).to_string() + " ";
  return text;
}

TEST(Split, MakesOnlyTheLastPartSmaller) {
  EXPECT_EQ(parts_of(7, 3), "f32[3] f32[3] f32[1] ");
  EXPECT_EQ(parts_of(6, 4), "f32[2] f32[2] f32[2] f32[0] ");
  EXPECT_EQ(parts_of(0, 2), "f32[0] f32[0] ");
  for (const auto& [size, count] : {std::pair{6, 5}, {5, 4}, {3, 5}, {9, 7}, {7, 5}}) {
    EXPECT_THAT(
        parts_of(size, static_cast<std::size_t>(count)),
        ::testing::HasSubstr("does not split into " + std::to_string(count - 1) + " parts"));
  }
  EXPECT_THAT(parts_of(ir::Dim::symbol("N"), 5), ::testing::StartsWith("f32[ceildiv(N,5)] "));
}

TEST_F(ShapeArithmetic, BodyChangesTheValuesThatItsOperationComputes) {
  ir::Operation sum;
  sum.kind = "Add";
  sum.inputs = {x_, x_};
  sum.outputs = {x_};
  sum.body = ir::Body{graph_.add_subgraph("body"), {}};
  const OperandFacts x = {ir::Type::tensor(ir::ElementType::kI64, ir::Shape{1}), Values{3}, {}};
  const OperandFacts* inputs[] = {&x, &x};
  InferenceContext context(sum, inputs);
  ASSERT_TRUE(infer_operation(context).is_ok());
  EXPECT_FALSE(context.output_values(0).has_value());
}

TEST(Schemas, AllHaveAShapeFunctionADocLineAndAscendingVersions) {
  for (const OpSchema* schema : all_schemas()) {
    EXPECT_NE(schema->infer, nullptr) << schema->name;
    EXPECT_FALSE(schema->doc.empty()) << schema->name;
    EXPECT_TRUE(std::is_sorted(schema->versions.begin(), schema->versions.end())) << schema->name;
    EXPECT_EQ(find_schema(schema->domain, schema->name), schema) << schema->name << " stands twice";
  }
}

}  // namespace
}  // namespace sluice::ops
