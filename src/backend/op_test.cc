#include "backend/op.h"

#include <gtest/gtest.h>

namespace sluice::backend {
namespace {

using ir::ElementType;
using ir::Type;

/// y = Conv(x, w) without bias, then Relu and Add of a constant in a fused body.
class OpTest : public ::testing::Test {
 protected:
  OpTest() {
    ir::Subgraph& main = graph.main();
    x = add_operand(main, "x", 3);
    y = add_operand(main, "y", 4);
    w = main.add_constant("w", ir::make_f32_constant(std::vector<float>(12, 0.5F), {4, 3, 1, 1}));
    conv.kind = "Conv";
    conv.name = "conv1";
    conv.version = 11;
    conv.inputs = {x, w, ir::OperandId()};
    conv.outputs = {y};
    conv.attributes.set("group", std::int64_t{1});
    conv.attributes.set("auto_pad", std::string("VALID"));
    conv.attributes.set("pads", std::vector<std::int64_t>{0, 0, 0, 0});
  }

  static ir::OperandId add_operand(ir::Subgraph& subgraph, const char* name,
                                   std::int64_t channels) {
    ir::Operand operand;
    operand.name = name;
    operand.type = Type::tensor(ElementType::kF32, ir::Shape{ir::Dim::symbol("N"), channels, 8, 8});
    return subgraph.add_operand(std::move(operand));
  }

  static ir::Operation step(const char* kind, std::vector<ir::OperandId> inputs,
                            ir::OperandId output) {
    ir::Operation operation;
    operation.kind = kind;
    operation.inputs = std::move(inputs);
    operation.outputs = {output};
    return operation;
  }

  ir::SubgraphId add_body() {
    const ir::SubgraphId id = graph.add_subgraph("body");
    ir::Subgraph& body = graph.subgraph(id);
    const auto own = body.add_operand({});
    const auto one = body.add_constant("one", ir::make_f32_constant({1}, {}));
    const auto relu = body.add_operand({});
    const auto sum = body.add_operand({});
    body.inputs = {own};
    body.outputs = {sum};
    body.add_operation(step("Relu", {own}, relu));
    body.add_operation(step("Add", {relu, one}, sum));
    return id;
  }

  Result<Op> create() { return Op::create({graph, graph.main(), conv}); }

  ir::Graph graph;
  ir::OperandId x, y, w;
  ir::Operation conv;
};

TEST_F(OpTest, OperandsExposeDimsConstantsAndAbsence) {
  const auto made = create();
  ASSERT_TRUE(made.is_ok()) << made.status().message();
  const sluice_op& op = made->get();
  ASSERT_EQ(op.num_inputs, 3);
  EXPECT_EQ(op.inputs[0].tensor.rank, 4);
  EXPECT_EQ(op.inputs[0].tensor.dims[0], -1);
  EXPECT_EQ(op.inputs[0].tensor.dims[1], 3);
  EXPECT_EQ(op.inputs[0].tensor.size_bytes, -1);
  EXPECT_EQ(op.inputs[1].is_constant, 1);
  EXPECT_EQ(op.inputs[1].tensor.size_bytes, 48);
  EXPECT_EQ(static_cast<const float*>(op.inputs[1].tensor.data)[11], 0.5F);
  EXPECT_EQ(op.inputs[2].tensor.element_type, 0);
  EXPECT_EQ(op.body, nullptr);
}

TEST_F(OpTest, TypeOfReplacesSymbols) {
  OpSource source = {graph, graph.main(), conv};
  source.type_of = [&](ir::OperandId id) {
    const std::int64_t channels = id == x ? 3 : 4;
    return Type::tensor(ElementType::kF32, ir::Shape{2, channels, 8, 8});
  };
  const auto made = Op::create(source);
  ASSERT_TRUE(made.is_ok()) << made.status().message();
  EXPECT_EQ(made->get().inputs[0].tensor.size_bytes, 2 * 3 * 64 * 4);
  EXPECT_EQ(made->get().outputs[0].tensor.dims[0], 2);
}

TEST_F(OpTest, OtherTypesShareConstantsAttributesAndBody) {
  conv.body = ir::Body{add_body(), {}};
  auto op = create();
  ASSERT_TRUE(op.is_ok()) << op.status().to_string();
  const sluice_op first = op->get();
  const sluice_operand* operands = first.inputs;
  std::vector<Type> types(graph.main().num_operands());
  for (const std::int64_t batch : {2, 5, 3}) {
    for (const ir::OperandId id : {x, y}) {
      const ir::Shape& shape = *graph.main().operand(id).type.shape();
      types[id.index()] = Type::tensor(ElementType::kF32, ir::Shape{batch, shape[1], 8, 8});
    }
    op = op->with_types(conv, [&](ir::OperandId id) -> const Type& { return types[id.index()]; });
    ASSERT_TRUE(op.is_ok()) << op.status().to_string();
    const sluice_op& other = op->get();
    EXPECT_EQ(other.inputs[0].tensor.dims[0], batch);
    EXPECT_EQ(other.inputs[0].tensor.size_bytes, batch * 3 * 64 * 4);
    EXPECT_EQ(other.outputs[0].tensor.dims[0], batch);
    EXPECT_EQ(other.inputs[1].tensor.data, operands[1].tensor.data);
    EXPECT_EQ(other.inputs[2].tensor.rank, 0) << "absent";
    EXPECT_EQ(other.attributes, first.attributes);
    EXPECT_EQ(other.body, first.body);
    EXPECT_EQ(op->describe(), "node \"conv1\" (Conv)");
  }
  types[y.index()] = Type::tensor(ElementType::kF32);  // of unknown rank
  EXPECT_FALSE(op->with_types(conv, [&](ir::OperandId id) -> const Type& {
                   return types[id.index()];
                 }).is_ok());
}

TEST_F(OpTest, AttributesAreOrderedByNameAndOutliveTheGraph) {
  auto made = create();
  ASSERT_TRUE(made.is_ok()) << made.status().message();
  conv = {};
  graph = {};
  const sluice_op& op = made->get();
  ASSERT_EQ(op.num_attributes, 3);
  EXPECT_STREQ(op.attributes[0].name, "auto_pad");
  EXPECT_EQ(std::string(op.attributes[0].texts->data, 5), "VALID");
  EXPECT_EQ(op.attributes[1].ints[0], 1);
  EXPECT_EQ(op.attributes[2].kind, SLUICE_ATTRIBUTE_INTS);
  EXPECT_EQ(op.attributes[2].count, 4);
  EXPECT_EQ(static_cast<const float*>(op.inputs[1].tensor.data)[0], 0.5F);
  EXPECT_EQ(made->describe(), "node \"conv1\" (Conv)");
}

TEST_F(OpTest, BodyBecomesRegisters) {
  conv.body = ir::Body{add_body(), {}};
  const auto made = create();
  ASSERT_TRUE(made.is_ok()) << made.status().message();
  const sluice_body& body = *made->get().body;
  EXPECT_EQ(body.num_inputs, 1);
  ASSERT_EQ(body.num_constants, 1);
  EXPECT_EQ(static_cast<const float*>(body.constants[0].data)[0], 1.0F);
  ASSERT_EQ(body.num_steps, 2);
  EXPECT_STREQ(body.steps[1].kind, "Add");
  EXPECT_EQ(body.steps[0].inputs[0], 0);
  EXPECT_EQ(body.steps[1].inputs[0], 2);
  EXPECT_EQ(body.steps[1].inputs[1], 1);
  EXPECT_EQ(body.result, 3);
}

TEST_F(OpTest, RefusesTypesThatCannotCrossTheAbi) {
  conv.attributes.set("then_branch", ir::SubgraphId(std::int32_t{0}));
  EXPECT_EQ(create().status().message(),
            "node \"conv1\" (Conv): attribute \"then_branch\": no backend takes attributes of this "
            "kind");
  conv.attributes.erase("then_branch");
  graph.main().operand(x).type = Type::sequence(Type::tensor(ElementType::kF32));
  EXPECT_EQ(create().status().message(),
            "node \"conv1\" (Conv): operand \"x\": seq(f32[?]) is not a tensor of known rank");
}

TEST_F(OpTest, RefusesAConstantShorterThanItsType) {
  ir::Constant& constant = *graph.main().operand(w).constant;
  constant.data = constant.data.slice(0, 44);
  EXPECT_EQ(create().status().message(),
            "node \"conv1\" (Conv): operand \"w\": a constant f32[4,3,1,1] has 44 of 48 bytes");
}

}  // namespace
}  // namespace sluice::backend
