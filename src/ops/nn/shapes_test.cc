// One operation at a time: the type of its first output, from its inputs' types and attributes.
#include <gtest/gtest.h>

#include "ops/inference.h"

namespace sluice::ops {
namespace {

using Ints = std::vector<std::int64_t>;
using AttributeList = std::vector<std::pair<std::string, ir::Attribute>>;

struct Given {
  std::string kind;
  std::vector<std::string> inputs;  ///< types; "" for an absent one
  AttributeList attributes = {};
  int opset = 23;
  std::string domain = {};
  std::vector<std::pair<std::size_t, Ints>> values = {};  ///< of inputs
  std::vector<std::pair<std::size_t, FloatValues>> floats = {};
};

/// The first output's type, or the error.
std::string infer(const Given& given) {
  const OpSchema* schema = find_schema(given.domain, given.kind);
  if (schema == nullptr) return "no schema";
  ir::Subgraph subgraph;
  ir::Operation operation;
  operation.domain = given.domain;
  operation.kind = given.kind;
  operation.version = version_in_opset(*schema, given.opset).value_or(0);
  std::vector<OperandFacts> facts;
  for (const std::string& text : given.inputs) {
    const ir::Type type = text.empty() ? ir::Type() : ir::parse_type(text).value();
    facts.push_back({type, std::nullopt, std::nullopt});
    operation.inputs.push_back(text.empty() ? ir::OperandId()
                                            : subgraph.add_operand({"", type, {}}));
  }
  for (const auto& [input, values] : given.values) {
    facts[input].values.emplace(values.begin(), values.end());
  }
  for (const auto& [input, values] : given.floats) facts[input].float_values = values;
  operation.outputs = {subgraph.add_operand({})};
  for (const auto& [name, value] : given.attributes) operation.attributes.set(name, value);
  const Status status = normalize(*schema, subgraph, operation);
  if (!status.is_ok()) return status.message();
  std::vector<const OperandFacts*> pointers;
  for (const OperandFacts& fact : facts) pointers.push_back(&fact);
  InferenceContext context(operation, pointers);
  const Status inferred = infer_operation(context);
  return inferred.is_ok() ? context.output(0).to_string() : inferred.message();
}

TEST(ConvShape, CountsWindowsForSymbolsAndNumbers) {
  const AttributeList strided = {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}};
  EXPECT_EQ(infer({"Conv", {"f32[N,3,224,224]", "f32[64,3,3,3]"}, strided}), "f32[N,64,112,112]");
  EXPECT_EQ(infer({"Conv", {"f32[1,4,9]", "f32[8,1,3]"}, {{"group", std::int64_t{4}}}}),
            "f32[1,8,7]");
  EXPECT_EQ(
      infer({"Conv", {"f32[1,1,N,5]", "f32[1,1,3,3]"}, {{"auto_pad", std::string("SAME_UPPER")}}}),
      "f32[1,1,N,5]");
}

TEST(ConvShape, RefusesFiltersThatDoNotFit) {
  EXPECT_NE(infer({"Conv", {"f32[1,3,8,8]", "f32[4,2,3,3]"}}).find("channels"), std::string::npos);
  EXPECT_NE(infer({"Conv", {"f32[1,3,2,2]", "f32[4,3,5,5]"}}).find("would have shape"),
            std::string::npos);
  EXPECT_NE(
      infer({"Conv", {"f32[1,3,8,8]", "f32[4,3,3,3]"}, {{"strides", Ints{0, 1}}}}).find("strides"),
      std::string::npos);
  EXPECT_NE(infer({"Conv", {"f32[1,3,8,8]", "f32[4,3,3]"}}).find("rank"), std::string::npos);
}

TEST(OneWayBroadcast, SymbolMayTurnOutToBeOne) {
  EXPECT_EQ(infer({"Gemm", {"f32[1,3]", "f32[3,4]", "f32[N,4]"}}), "f32[1,4]");
  EXPECT_EQ(infer({"RMSNormalization", {"f32[1,4]", "f32[N,4]"}}), "f32[1,4]");
  EXPECT_EQ(infer({"PRelu", {"f32[1,4]", "f32[N,4]"}}), "f32[1,4]");
  EXPECT_NE(infer({"PRelu", {"f32[1,4]", "f32[2,4]"}}).find("does not broadcast"),
            std::string::npos);
  EXPECT_NE(infer({"Gemm", {"f32[1,3]", "f32[3,4]", "f32[2,4]"}}).find("does not broadcast"),
            std::string::npos);
  EXPECT_NE(infer({"RMSNormalization", {"f32[1,4]", "f32[2,4]"}}).find("stretch"),
            std::string::npos);
}

TEST(RecurrentShape, HiddenSizeThatIsNotTheWeightsIsRefused) {
  const std::vector<std::string> operands = {"f32[2,1,3]", "f32[1,4,3]", "f32[1,4,4]"};
  EXPECT_EQ(infer({"RNN", operands, {{"hidden_size", std::int64_t{4}}}}), "f32[2,1,1,4]");
  EXPECT_NE(infer({"RNN", operands, {{"hidden_size", std::int64_t{5}}}}).find("hidden_size is 5"),
            std::string::npos);
}

TEST(AxesAttribute, RepeatedAxisIsRefused) {
  EXPECT_NE(infer({"MeanVarianceNormalization", {"f32[2,3]"}, {{"axes", Ints{0, -2}}}})
                .find("axis -2 stands twice"),
            std::string::npos);
}

TEST(ConvShape, TransposedUndoesConv) {
  const AttributeList strided = {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}};
  EXPECT_EQ(infer({"ConvTranspose", {"f32[1,4,7,7]", "f32[4,3,4,4]"}, strided}), "f32[1,3,14,14]");
  EXPECT_EQ(
      infer({"ConvTranspose", {"f32[1,4,7,7]", "f32[4,3,4,4]"}, {{"output_shape", Ints{15, 16}}}}),
      "f32[1,3,15,16]");
}

TEST(PoolShape, CeilModeCountsALastWindowOnlyIfItStartsInside) {
  const AttributeList pool = {
      {"kernel_shape", Ints{1}}, {"strides", Ints{2}}, {"ceil_mode", std::int64_t{1}}};
  EXPECT_EQ(infer({"MaxPool", {"f32[1,1,4]"}, pool}), "f32[1,1,2]");
  EXPECT_EQ(infer({"MaxPool", {"f32[1,1,5]"}, pool}), "f32[1,1,3]");
  EXPECT_EQ(infer({"MaxPool", {"f32[1,1,5]"}}),
            "a MaxPool node: attribute \"kernel_shape\" is missing");
}

TEST(ProductShape, BroadcastsAndTreatsVectorsAsRowsAndColumns) {
  EXPECT_EQ(infer({"MatMul", {"f32[N,1,2,3]", "f32[5,3,4]"}}), "f32[N,5,2,4]");
  EXPECT_EQ(infer({"MatMul", {"f32[3]", "f32[3]"}}), "f32[]");
  EXPECT_EQ(infer({"MatMul", {"f32[3]", "f32[7,3,4]"}}), "f32[7,4]");
  EXPECT_NE(infer({"MatMul", {"f32[2,3]", "f32[4,5]"}}).find("do not multiply"), std::string::npos);
  EXPECT_EQ(infer({"Gemm",
                   {"f32[K,M]", "f32[5,K]", "f32[5]"},
                   {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}}}),
            "f32[M,5]");
}

TEST(EinsumShape, SumsLettersMissingFromTheOutput) {
  EXPECT_EQ(
      infer(
          {"Einsum", {"f32[N,2,3]", "f32[N,3,4]"}, {{"equation", std::string("bij, bjk -> bik")}}}),
      "f32[N,2,4]");
  EXPECT_EQ(infer({"Einsum", {"f32[7,2,2]"}, {{"equation", std::string("...ii->...i")}}}),
            "f32[7,2]");
  EXPECT_NE(infer({"Einsum", {"f32[2,3]"}, {{"equation", std::string("ij->k")}}}).find("'k'"),
            std::string::npos);
}

TEST(SoftmaxVersions, OldFormBecomesNewWhereTheAxisIsTheLast) {
  const OpSchema& schema = *find_schema("", "Softmax");
  ir::Subgraph subgraph;
  ir::Operation operation;
  operation.kind = "Softmax";
  operation.version = 1;
  operation.inputs = {subgraph.add_operand({"", ir::parse_type("f32[2,3]").value(), {}})};
  operation.outputs = {subgraph.add_operand({})};
  ASSERT_TRUE(normalize(schema, subgraph, operation).is_ok());
  EXPECT_EQ(operation.version, 13);
  operation.version = 1;
  subgraph.operand(operation.inputs[0]).type = ir::parse_type("f32[2,3,4]").value();
  ASSERT_TRUE(normalize(schema, subgraph, operation).is_ok());
  EXPECT_EQ(operation.version, 11);
}

TEST(RecurrentShape, FollowsDirectionAndLayout) {
  const AttributeList both = {{"direction", std::string("bidirectional")}};
  EXPECT_EQ(infer({"LSTM", {"f32[S,B,4]", "f32[2,20,4]", "f32[2,20,5]"}, both}), "f32[S,2,B,5]");
  EXPECT_EQ(
      infer({"GRU", {"f32[B,S,4]", "f32[1,15,4]", "f32[1,15,5]"}, {{"layout", std::int64_t{1}}}}),
      "f32[B,S,1,5]");
  EXPECT_NE(infer({"LSTM", {"f32[S,B,4]", "f32[1,19,4]", "f32[1,20,5]"}}).find("W"),
            std::string::npos);
}

TEST(AttentionShape, AppendsThePast) {
  EXPECT_EQ(infer({.kind = "Attention",
                   .inputs = {"f32[B,4,S,8]", "f32[B,2,S,8]", "f32[B,2,S,16]"},
                   .domain = "sluice"}),
            "f32[B,4,S,16]");
  EXPECT_EQ(infer({"Attention",
                   {"f32[2,5,32]", "f32[2,6,16]", "f32[2,6,16]"},
                   {{"q_num_heads", std::int64_t{4}}, {"kv_num_heads", std::int64_t{2}}}}),
            "f32[2,5,32]");
}

TEST(PagedAttentionShape, HasARowForEachToken) {
  Given given = {
      .kind = "PagedAttention",
      .inputs = {"f32[S,24]", "f32[P,2,32,4]", "f32[P,2,32,6]", "i64[S]", "i64[S]", "i64[N,B]"},
      .domain = "sluice"};
  EXPECT_EQ(infer(given), "f32[S,36]");
  given.inputs[1] = "f16[P,2,32,4]";
  EXPECT_NE(infer(given).find("element type"), std::string::npos);
  given.inputs[2] = "f16[P,2,32,6]";
  EXPECT_EQ(infer(given), "f32[S,36]") << "pages may have fewer bits";
  given.inputs[1] = "i8[P,2,32,8]";
  given.inputs[2] = "i8[P,2,32,10]";
  EXPECT_EQ(infer(given), "f32[S,36]") << "a row of 8 bits ends in the 4 bytes of its scale";
  given.inputs[1] = "i8[P,2,32,4]";
  EXPECT_NE(infer(given).find("is empty"), std::string::npos);
  given.inputs[1] = "f16[P,2,32,4]";
  given.inputs[2] = "f16[P,2,32,6]";
  given.inputs[0] = "f32[5,20]";
  EXPECT_NE(infer(given).find("a multiple of 2 heads of 4"), std::string::npos);
  given.inputs[0] = "f32[5,24]";
  given.inputs[3] = "i64[4]";
  EXPECT_NE(infer(given).find("input 3 has 4 rows and q has 5"), std::string::npos);
  given.inputs[3] = "i64[5,1]";
  EXPECT_NE(infer(given).find("input 3 has rank 2; expected 1"), std::string::npos);
  given.inputs[3] = "i64[5]";
  given.inputs[2] = "f16[P,2,16,6]";
  EXPECT_NE(infer(given).find("do not fit"), std::string::npos);
}

TEST(RoundRowsShape, PutsTheScaleBehindEachRow) {
  const auto rounded = [](const char* x) {
    return infer({.kind = "RoundRows", .inputs = {x}, .domain = "sluice"});
  };
  EXPECT_EQ(rounded("f32[S,2,64]"), "i8[S,2,68]");
  EXPECT_EQ(rounded("bf16[S,D]"), "i8[S,D+4]");
  EXPECT_NE(rounded("f32[]").find("x has no rows"), std::string::npos);
  EXPECT_NE(rounded("i8[S,4]").find("element type"), std::string::npos);
}

TEST(RoutedMatMulShape, HasAProductForEachRoute) {
  Given given = {.kind = "RoutedMatMul",
                 .inputs = {"f32[S,64]", "bf16[8,20,64]", "", "", "i64[S,2]"},
                 .domain = "sluice"};
  EXPECT_EQ(infer(given), "f32[S,2,20]");
  given.inputs[0] = "f32[S,2,64]";
  EXPECT_EQ(infer(given), "f32[S,2,20]");
  given.inputs[0] = "f32[S,3,64]";
  EXPECT_NE(infer(given).find("do not fit"), std::string::npos);
  given.inputs[0] = "f32[S,60]";
  EXPECT_NE(infer(given).find("do not multiply"), std::string::npos);
  given.inputs[0] = "f32[S,64]";
  given.inputs[1] = "u4[8,20,64]";
  EXPECT_NE(infer(given).find("integers alone have scales"), std::string::npos);
  given.inputs[2] = "f32[8,20,2]";
  given.attributes = {{"block_size", std::int64_t{32}}};
  EXPECT_EQ(infer(given), "f32[S,2,20]");
  given.inputs[2] = "f32[8,20,4]";
  EXPECT_NE(infer(given).find("does not fit B"), std::string::npos);
}

TEST(ResizeShape, ScalesSymbolsBySimpleFactors) {
  EXPECT_EQ(infer({.kind = "Resize",
                   .inputs = {"f32[1,3,H,10]", "", "f32[4]"},
                   .floats = {{2, {1, 1, 2, 0.5}}}}),
            "f32[1,3,2*H,5]");
  EXPECT_EQ(infer({.kind = "Resize",
                   .inputs = {"f32[1,3,20,10]", "", "", "i64[2]"},
                   .attributes = {{"axes", Ints{2, 3}},
                                  {"keep_aspect_ratio_policy", std::string("not_larger")}},
                   .values = {{3, {10, 8}}}}),
            "f32[1,3,10,5]");
  EXPECT_NE(infer({"Resize", {"f32[1,3,20,10]"}}).find("scales or sizes"), std::string::npos);
}

TEST(ResizeShape, RoundsTheProductToFloatFirst) {
  EXPECT_EQ(infer({.kind = "Resize",
                   .inputs = {"f32[1,3,7,5]", "", "f32[4]"},
                   .floats = {{2, {1, 1, 1.3F, 2.6F}}}}),
            "f32[1,3,9,13]");
}

TEST(UpsampleVersions, BecomeResizeWithTheScalesItsThirdInput) {
  ir::Subgraph subgraph;
  ir::Operation operation;
  operation.kind = "Upsample";
  operation.version = 7;
  operation.inputs = {subgraph.add_operand({"", ir::parse_type("f32[1,1,2,2]").value(), {}})};
  operation.outputs = {subgraph.add_operand({})};
  operation.attributes.set("scales", std::vector<float>{1, 1, 2, 3});
  ASSERT_TRUE(normalize(*find_schema("", "Upsample"), subgraph, operation).is_ok());
  EXPECT_EQ(operation.kind, "Resize");
  EXPECT_EQ(operation.version, 19);
  ASSERT_NE(subgraph.find_constant(operation.input(2)), nullptr);
  EXPECT_EQ(operation.attributes.get_or<std::string>("nearest_mode", ""), "floor");
}

TEST(QuantizeShape, TakesTheTypeOfTheZeroPointOrOfTheAttribute) {
  EXPECT_EQ(infer({"QuantizeLinear", {"f32[N,4]", "f32[]", "i8[]"}}), "i8[N,4]");
  EXPECT_EQ(infer({"QuantizeLinear", {"f32[N,4]", "f32[]"}, {{"output_dtype", std::int64_t{4}}}}),
            "u16[N,4]");
  EXPECT_NE(infer({"QuantizeLinear", {"f32[2,4]", "f32[3]", "i8[3]"}}).find("axis"),
            std::string::npos);
}

TEST(SamplingShape, KnowsTheRankWithoutTheSize) {
  EXPECT_EQ(infer({"AffineGrid", {"f32[N,2,3]", "i64[4]"}}).substr(0, 6), "f32[N,");
  EXPECT_EQ(infer({"AffineGrid", {"f32[N,2,3]", "i64[4]"}}).find("?"), std::string::npos);
  EXPECT_EQ(infer({"Col2Im", {"f32[N,8,9]", "i64[2]", "i64[2]"}}).find("?"), std::string::npos);
}

TEST(TopKShape, RefusesKBeyondTheAxis) {
  EXPECT_EQ(infer({.kind = "TopK", .inputs = {"f32[N,9]", "i64[1]"}, .values = {{1, {3}}}}),
            "f32[N,3]");
  EXPECT_NE(infer({.kind = "TopK", .inputs = {"f32[2,9]", "i64[1]"}, .values = {{1, {10}}}})
                .find("K is 10"),
            std::string::npos);
}

}  // namespace
}  // namespace sluice::ops
