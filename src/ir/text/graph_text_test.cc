#include "ir/text/graph_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/verify.h"

namespace sluice::ir {
namespace {

constexpr std::string_view kExample = R"(fact "producer" = "a \"test\""
subgraph @0 "main" {
  input %x : f32[N,3,8,8]
  const %w : f32[2,3,1,1] = [1.0, 2.5, -0.0, 1e-07, 3.0, 4.0]
  const %zero : f32[2] = splat 0.0
  const %shape : i64[2] = [-1, 2]
  const %half : f16[2] = hex 003c0040
  const %none : f32[0] = []
  [%y : f32[N,2,8,8]@c16] = Conv.11[%x, %w, _] body @1[%zero] {group = 1, pads = [0, 0, 0, 0]} "conv 1"
  [%"odd name" : f32[M,2], _, %0 : i64[?]] = com.microsoft::Odd.1[%y, %"12"] {a = 1.0, b = floats [0.5], c = "t\x01\n", d = tensor i64[1] = [7], e = type seq(f32[?]), f = texts ["u"], g = [], h = subgraphs [@1]}
  output [%"odd name", %0]
}
subgraph @1 "relu" {
  input %v : f32[?]
  input %bias : f32[?]
  [%0 : f32[?]] = Add.14[%v, %bias]
  [%1 : f32[?]] = Relu.14[%0]
  output [%1]
}
)";

TEST(GraphText, ParsesAndPrintsBackTheSame) {
  const auto graph = parse_graph(kExample);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_EQ(print(*graph), kExample);
}

TEST(GraphText, CommentsAreSkipped) {
  const auto graph = parse_graph("subgraph @0 \"m\" { // nothing\n output [] }");
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
}

TEST(GraphText, NumberedConstantsStandElsewhere) {
  const auto graph = parse_graph(kExample);
  ASSERT_TRUE(graph.is_ok());
  std::vector<Bytes> numbered;
  const std::string text =
      print(*graph, [&](const Constant& constant) -> std::optional<std::size_t> {
        numbered.push_back(constant.data);
        return numbered.size() - 1;
      });
  EXPECT_NE(text.find("const %w : f32[2,3,1,1] = #0"), std::string::npos) << text;
  const auto again = parse_graph(text, numbered);
  ASSERT_TRUE(again.is_ok()) << again.status().to_string();
  EXPECT_EQ(print(*again), kExample);
}

TEST(GraphText, ConstantsMayBeLeftOut) {
  const char* text = "subgraph @0 \"m\" {\n  const %a : f32[3,5] = left_out\n  output [%a]\n}\n";
  const auto graph = parse_graph(text);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_TRUE(verify(*graph).is_ok());
  EXPECT_EQ(print(*graph), text);
  const Constant& constant = *graph->main().operand(OperandId(std::size_t{0})).constant;
  EXPECT_TRUE(is_left_out(constant));
  EXPECT_EQ(float_values(constant), std::nullopt);
}

TEST(ParseGraph, SomeConstantsCannotBeLeftOut) {
  for (const char* line :
       {"const %a : string[2] = left_out", "const %a : f32[0] = left_out",
        "const %a : f32[N] = left_out", "[%a : f32[?]] = Odd.1[] {v = tensor f32[2] = left_out}"}) {
    const std::string text = std::string("subgraph @0 \"m\" {\n  ") + line + "\n  output [%a]\n}\n";
    EXPECT_FALSE(parse_graph(text).is_ok()) << line;
  }
}

TEST(GraphText, NonFiniteConstantsKeepTheirBits) {
  Graph graph;
  graph.main().add_constant("nan", make_f32_constant({std::nanf("7")}, {1}));
  const auto again = parse_graph(print(graph));
  ASSERT_TRUE(again.is_ok()) << again.status().to_string();
  EXPECT_EQ(print(*again), print(graph));
}

TEST(ParseGraph, ShortTextCannotRequestHugeConstants) {
  for (const char* type : {"f32[67108864]", "string[56888134]", "u4[1073741824]"}) {
    const std::string line = fmt::format("const _ : {} = splat 1\n", type);
    const Status status = parse_graph("subgraph @0 \"m\" {\n" + line + line).status();
    EXPECT_FALSE(status.is_ok()) << type;
  }
  const auto status = parse_graph(
      "subgraph @0 \"m\" { const %a : u8[16777215] = splat 1 const %b : u8[2] = splat 1 output "
      "[]}");
  EXPECT_EQ(status.status().message(),
            "line 1, column 79: the splats of a text make at most 16777216 bytes");
}

TEST(GraphText, EqualElementsAreOneWord) {
  const char* text = "subgraph @0 \"m\" {\n  const %a : i64[3,5] = splat -7\n  output []\n}\n";
  const auto graph = parse_graph(text);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_EQ(graph->main().num_operands(), 1U);
  EXPECT_EQ(print(*graph), text);
}

TEST(ParseGraph, SaysWhereItFails) {
  const Status status = parse_graph("subgraph @0 \"m\" {\n  input %x f32[1]\n}").status();
  EXPECT_EQ(status.to_string(), "invalid argument: line 2, column 12: expected ':'");
}

TEST(ParseGraph, RefusesMalformedText) {
  for (const char* body :
       {"", "input", "const %c : f32[2] = [1.0]", "const %c : f32[1] = #0",
        "const %c : f32[1] = hex 00", "const %c : f32[N] = splat 1.0", "const %c : u8[1] = [300]",
        "const _ = [1]", "[%y : f32[1]] = Relu[%x]", "[%y : f32[1]] = Relu.x[%x]",
        "[%y : f32[1]] = Relu.1[%x] {a = }", "output [%x", "output [x]",
        "[%y : f32[1]] = Relu.1[%x] \"open", "const %c : f32[99999999999] = splat 1.0"}) {
    const std::string text = std::string("subgraph @0 \"m\" {\n") + body;
    EXPECT_FALSE(parse_graph(text).is_ok()) << body;
  }
  EXPECT_FALSE(parse_graph("").is_ok());
  EXPECT_FALSE(parse_graph("subgraph @1 \"m\" { output [] }").is_ok());
}

}  // namespace
}  // namespace sluice::ir
