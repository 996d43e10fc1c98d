#include "sluice/remote/functions/graph_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::tool {
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
  EXPECT_EQ(file->edges[0].from, (sandbox::GraphPort{"a", "out.x"}));
  EXPECT_EQ(file->edges[0].to, (sandbox::GraphPort{"classifier", "in"}));
  EXPECT_EQ(file->outputs, (std::vector<sandbox::GraphPort>{{"a", "out.x"}}));
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

}  // namespace
}  // namespace sluice::tool
