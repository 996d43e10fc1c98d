#include "sandbox/graph/graph_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::sandbox {
namespace {

using ::testing::HasSubstr;

TEST(GraphFile, NamesFunctionsEdgesAndOutputs) {
  const auto file = parse_graph_file(R"({"functions": ["a=detector", "classifier"],
      "edges": ["a.out.x=classifier.in"], "outputs": ["a.out.x"]})");
  ASSERT_TRUE(file.is_ok()) << file.status().to_string();
  ASSERT_EQ(file->functions.size(), 2U);
  EXPECT_EQ(file->functions[0].name + "," + file->functions[0].function, "a,detector");
  EXPECT_EQ(file->functions[1].name + "," + file->functions[1].function, "classifier,classifier");
  ASSERT_EQ(file->edges.size(), 1U);
  EXPECT_EQ(file->edges[0].from, (terms::GraphPort{"a", "out.x"}));
  EXPECT_EQ(file->edges[0].to, (terms::GraphPort{"classifier", "in"}));
  EXPECT_EQ(file->outputs, (std::vector<terms::GraphPort>{{"a", "out.x"}}));
}

TEST(GraphFile, ErrorsNameThePlace) {
  const auto refusal = [](std::string_view text) {
    const auto file = parse_graph_file(text);
    return file.is_ok() ? std::string() : file.status().message();
  };
  EXPECT_THAT(refusal("{"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("[]"), HasSubstr("object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("functions"));
  EXPECT_THAT(refusal(R"({"functions": [], "nodes": []})"), HasSubstr("nodes: no such key"));
  EXPECT_THAT(refusal(R"({"functions": [1]})"), HasSubstr("graph.functions[0]"));
  EXPECT_THAT(refusal(R"({"functions": ["a"], "edges": ["a.y"]})"), HasSubstr("graph.edges[0]"));
  EXPECT_THAT(refusal(R"({"functions": ["a"], "outputs": ["a"]})"), HasSubstr("graph.outputs[0]"));
}

TEST(GraphFile, TextsOverTheLimitAreRefused) {
  const std::string text(static_cast<std::size_t>(kMaxGraphFileBytes) + 1, ' ');
  EXPECT_THAT(parse_graph_file(text).status().message(), HasSubstr("the limit is 1048576"));
}

TEST(GraphFile, FunctionsAreFoundByNameOrHandle) {
  std::vector<terms::ModelInfo> models(4);
  models[0].name = "0x11";  // the handle of another model
  models[0].handle = 0x10;
  models[1].name = "twin";
  models[1].handle = 0x11;
  models[2].name = "twin";
  models[2].handle = 0x12;
  models[3].name = "reader";
  models[3].handle = 0x13;
  const auto find = [&](const std::string& text) -> Result<std::uint64_t> {
    const auto request = SLUICE_TRY(to_request({{{"a", text}}, {}, {}}, "graph", models));
    return static_cast<std::uint64_t>(request.nodes.at(0).function);
  };
  EXPECT_EQ(find("reader").value(), 0x13U);
  EXPECT_EQ(find("0x11").value(), 0x11U);
  EXPECT_EQ(find("18").value(), 0x12U);
  EXPECT_EQ(find("writer").status().code(), Code::kNotFound);
  EXPECT_THAT(find("twin").status().message(), HasSubstr("2 models are called \"twin\""));
}

}  // namespace
}  // namespace sluice::sandbox
