// Sizes whose expressions grow past the bounds of ir::Dim become symbols.
#include <gtest/gtest.h>

#include "ir/text/graph_text.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

/// "x0, x1, ...", each formatted from its number.
std::string list(int count, std::string_view item) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += fmt::format(fmt::runtime(item), i);
  }
  return text;
}

/// Inputs x0... of sizes N0..., joined as %all, then `rest`, whose result is %y. Infers twice, as
/// passes do. Types of the operands by name.
std::map<std::string, std::string> types_with(int count, std::string_view rest) {
  std::string text = "subgraph @0 \"main\" {\n";
  for (int i = 0; i < count; ++i) text += fmt::format("  input %x{} : f32[N{},4]\n", i, i);
  text += fmt::format("  [%all : f32[?]] = Concat.13[{}] {{axis = 0}}\n", list(count, "%x{}"));
  text += std::string(rest) + "  output [%y]\n}\n";
  auto graph = ir::parse_graph(text);
  EXPECT_TRUE(graph.is_ok()) << graph.status().to_string();
  std::map<std::string, std::string> types;
  if (!graph.is_ok()) return types;
  for (int i = 0; i < 2; ++i) {
    const Status status = infer_types(*graph);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  }
  const ir::Subgraph& main = graph->main();
  for (std::size_t i = 0; i < main.num_operands(); ++i) {
    const ir::Operand& operand = main.operand(ir::OperandId(i));
    types[operand.name] = operand.type.to_string();
    EXPECT_TRUE(ir::parse_type(types[operand.name]).is_ok()) << types[operand.name];
  }
  return types;
}

TEST(LongDims, SumOfManySizesIsASymbol) {
  EXPECT_EQ(types_with(3, "  [%y : f32[?]] = Relu.14[%all]\n")["y"], "f32[N0+N1+N2,4]");
  auto types = types_with(65, "  [%y : f32[?]] = Relu.14[%all]\n");
  EXPECT_EQ(types["all"], "f32[_u66_0,4]");
  EXPECT_EQ(types["y"], types["all"]);
}

TEST(LongDims, SymbolIsASizeLikeAnyOther) {
  auto types = types_with(70, R"(
  [%s : i64[?]] = Shape.25[%all] {end = 1, start = 0}
  [%twice : i64[?]] = Add.14[%s, %s]
  const %one : f32[] = [1.0]
  [%y : f32[?]] = Expand.13[%one, %twice]
)");
  EXPECT_EQ(types["y"], "f32[2*_u71_0]");
}

TEST(LongDims, TwoSumsAreTwoSymbols) {
  auto types = types_with(65, fmt::format(R"(
  [%again : f32[?]] = Concat.13[{}] {{axis = 0}}
  [%y : f32[?]] = Concat.13[%all, %again] {{axis = 0}}
)",
                                          list(65, "%x{}")));
  EXPECT_EQ(types["y"], "f32[_u66_0+_u67_0,4]");
}

TEST(LongDims, ProductOfSumsIsASymbol) {
  auto types = types_with(10, R"(
  [%t : f32[?]] = Transpose.25[%all] {perm = [1, 0]}
  [%square : f32[?]] = MatMul.13[%all, %t]
  [%y : f32[?]] = Flatten.25[%square] {axis = 0}
  [%n : i64[]] = Size.25[%square]
)");
  EXPECT_EQ(types["square"].find("f32[N0+N1+"), 0U) << types["square"];
  EXPECT_EQ(types["y"], "f32[1,_u14_0]");
}

TEST(LongDims, FunctionOfALongSumIsASymbol) {
  std::string inputs;
  std::string names;
  for (int i = 0; i < 60; ++i) {
    const std::string name(24, static_cast<char>('a' + i % 26));
    inputs += fmt::format("  input %x{} : f32[1,1,{}{},4]\n", i, name, i);
    names += fmt::format("{}%x{}", i > 0 ? ", " : "", i);
  }
  auto graph = ir::parse_graph(fmt::format(R"(subgraph @0 "main" {{
{}  [%all : f32[?]] = Concat.13[{}] {{axis = 2}}
  [%y : f32[?]] = MaxPool.22[%all] {{kernel_shape = [3, 2], strides = [2, 1]}}
  output [%y]
}}
)",
                                           inputs, names));
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  const Status status = infer_types(*graph);
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(graph->main().operand(graph->main().outputs[0]).type.to_string(), "f32[1,1,_u62_0,3]");
}

TEST(LongDims, ValueThatMayBeNegativeIsForgotten) {
  // Sums of 40 and 40 other sizes; their difference is no size.
  auto types = types_with(80, fmt::format(R"(
  [%first : f32[?]] = Concat.13[{}] {{axis = 0}}
  [%a : i64[?]] = Shape.25[%first] {{end = 1, start = 0}}
  const %seven : i64[1] = [7]
  [%b : i64[?]] = Mul.14[%a, %seven]
  [%s : i64[?]] = Shape.25[%all] {{end = 1, start = 0}}
  [%c : i64[?]] = Sub.14[%b, %s]
  [%y : f32[?]] = Expand.13[%all, %c]
)",
                                          list(40, "%x{}")));
  EXPECT_EQ(types["c"], "i64[1]");
}

TEST(LongDims, SequencesOfThemHaveTypes) {
  auto types = types_with(65, R"(
  [%list : seq(f32[?])] = SequenceConstruct.11[%all, %all]
  [%y : f32[?]] = ConcatFromSequence.11[%list] {axis = 0, new_axis = 0}
)");
  EXPECT_EQ(types["list"], "seq(f32[_u67_0,4])");
}

TEST(LongDims, BranchesAndLoopsMayJoinThem) {
  std::string text = "subgraph @0 \"main\" {\n  input %c : bool[]\n";
  for (int i = 0; i < 65; ++i) text += fmt::format("  input %x{} : f32[N{}]\n", i, i);
  text += fmt::format(
      R"(  [%y : f32[?]] = If.25[%c, {}] {{captures = 65, else_branch = @2, then_branch = @1}}
  output [%y]
}}
)",
      list(65, "%x{}"));
  for (int branch = 1; branch < 3; ++branch) {
    text += fmt::format("subgraph @{} \"branch\" {{\n", branch);
    for (int i = 0; i < 65; ++i) text += fmt::format("  input %x{} : f32[?]\n", i);
    text += fmt::format("  [%all : f32[?]] = Concat.13[{}] {{axis = 0}}\n  output [%all]\n}}\n",
                        list(65, "%x{}"));
  }
  auto graph = ir::parse_graph(text);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  const Status status = infer_types(*graph);
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  const ir::Type& type = graph->main().operand(graph->main().outputs[0]).type;
  ASSERT_NE(type.shape(), nullptr);
  EXPECT_FALSE(type.shape()->front().is_known());
}

TEST(LongDims, NumbersThatPass64BitsAreStillRefused) {
  auto graph = ir::parse_graph(R"(subgraph @0 "main" {
  input %x : f32[4611686018427387904]
  [%y : f32[?]] = Concat.13[%x, %x] {axis = 0}
  output [%y]
}
)");
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_NE(infer_types(*graph).message().find("passes 64 bits"), std::string::npos);
}

}  // namespace
}  // namespace sluice::ops
