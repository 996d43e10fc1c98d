#include "compile/link/link_graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/graph_text.h"
#include "ir/verify.h"

namespace sluice::compile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr std::string_view kEncoder = R"(
subgraph @0 "main" {
  input %x : f32[N,4]
  [%y : f32[N,4]] = Relu.14[%x] "act"
  [%z : f32[N,4]] = Tanh.13[%y] "tanh"
  output [%y, %z]
}
)";

constexpr std::string_view kDecoder = R"(
subgraph @0 "main" {
  input %a : f32[M,4]
  input %b : f32[M,4]
  [%c : f32[M,4]] = Add.14[%a, %b] "sum"
  output [%c]
}
)";

constexpr std::string_view kWide = R"(
subgraph @0 "main" {
  input %a : f32[M,5]
  [%c : f32[M,5]] = Relu.14[%a] "act"
  output [%c]
}
)";

LinkedModel model(std::string name, std::string_view text) {
  auto graph = ir::parse_graph(text);
  EXPECT_TRUE(graph.is_ok()) << graph.status().to_string();
  return {std::move(name), std::move(graph).value()};
}

Result<ir::Graph> link(std::vector<LinkedModel> models, std::vector<std::string> edges,
                       std::vector<std::string> outputs = {}) {
  LinkRequest request;
  request.models = std::move(models);
  for (const std::string& edge : edges) request.edges.push_back(SLUICE_TRY(ModelEdge::parse(edge)));
  for (const std::string& port : outputs) {
    request.outputs.push_back(SLUICE_TRY(ModelPort::parse(port)));
  }
  return link_graphs(std::move(request));
}

std::vector<std::string> names(const ir::Subgraph& main, const std::vector<ir::OperandId>& ids) {
  std::vector<std::string> all;
  for (const ir::OperandId id : ids) all.push_back(main.operand(id).name);
  return all;
}

TEST(LinkGraphs, ModelsRunBehindThoseTheyDependOn) {
  const auto graph =
      link({model("dec", kDecoder), model("enc", kEncoder)}, {"enc.y=dec.a", "enc.z=dec.b"});
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_TRUE(ir::verify(*graph).is_ok()) << ir::verify(*graph).to_string();
  EXPECT_THAT(names(graph->main(), graph->main().inputs), ElementsAre("enc.x"));
  EXPECT_THAT(names(graph->main(), graph->main().outputs), ElementsAre("dec.c"));
  EXPECT_THAT(model_starts(*graph), ElementsAre(Pair("enc", 0), Pair("dec", 2)));
}

TEST(LinkGraphs, OutputMayFeedSeveralInputsAndBeAnOutput) {
  const auto graph = link({model("enc", kEncoder), model("dec", kDecoder)},
                          {"enc.y=dec.a", "enc.y=dec.b"}, {"enc.y"});
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_THAT(names(graph->main(), graph->main().outputs), ElementsAre("enc.y", "enc.z", "dec.c"));
}

TEST(LinkGraphs, SymbolsOfAnInputTakeTheDimensionsThatComeIn) {
  const auto graph =
      link({model("enc", kEncoder), model("dec", kDecoder)}, {"enc.y=dec.a", "enc.z=dec.b"});
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  const ir::Subgraph& main = graph->main();
  EXPECT_EQ(main.operand(main.outputs[0]).type, main.operand(main.inputs[0]).type);
}

TEST(LinkGraphs, TypesThatDoNotFitAreNamed) {
  const auto graph = link({model("enc", kEncoder), model("wide", kWide)}, {"enc.y=wide.a"});
  EXPECT_THAT(graph.status().message(), HasSubstr("edge enc.y=wide.a: the output is f32["));
  EXPECT_THAT(graph.status().message(), HasSubstr("the input takes f32[M,5]"));
}

TEST(LinkGraphs, CircleIsNamedModelByModel) {
  const auto graph =
      link({model("one", kDecoder), model("two", kDecoder)}, {"one.c=two.a", "two.c=one.a"});
  EXPECT_THAT(graph.status().message(), HasSubstr("circle: "));
  EXPECT_THAT(graph.status().message(), HasSubstr("one -> two"));
  const auto self = link({model("one", kDecoder)}, {"one.c=one.a"});
  EXPECT_THAT(self.status().message(), HasSubstr("circle: one -> one"));
}

TEST(LinkGraphs, WrongEdgesAreRefused) {
  const auto refusal = [](std::vector<std::string> edges) {
    return link({model("enc", kEncoder), model("dec", kDecoder)}, std::move(edges))
        .status()
        .message();
  };
  EXPECT_THAT(refusal({"enc.y"}), HasSubstr("write it as"));
  EXPECT_THAT(refusal({"enc=dec.a"}), HasSubstr("MODEL.NAME"));
  EXPECT_THAT(refusal({"enc.q=dec.a"}), HasSubstr("no output \"q\"; it has y, z"));
  EXPECT_THAT(refusal({"enc.y=dec.q"}), HasSubstr("no input \"q\"; it has a, b"));
  EXPECT_THAT(refusal({"foo.y=dec.a"}), HasSubstr("no model is named \"foo\""));
  EXPECT_THAT(refusal({"enc.y=dec.a", "enc.z=dec.a"}), HasSubstr("has an edge already"));
  EXPECT_THAT(link({model("a", kWide), model("a", kWide)}, {}).status().message(),
              HasSubstr("two models are named \"a\""));
  EXPECT_THAT(link({model("a.b", kWide)}, {}).status().message(), HasSubstr("no name of a model"));
}

}  // namespace
}  // namespace sluice::compile
