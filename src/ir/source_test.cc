#include "ir/source.h"

#include <gtest/gtest.h>

#include "ir/text/graph_text.h"

namespace sluice::ir {
namespace {

Graph two_operations() {
  Graph graph;
  for (const char* name : {"conv1", "relu1"}) {
    Operation operation;
    operation.kind = "Relu";
    operation.name = name;
    graph.main().add_operation(std::move(operation));
  }
  return graph;
}

TEST(Source, IsKnownByTheNameOfTheOperation) {
  Graph graph = two_operations();
  set_source(graph, "conv1", "model.py:42 (encoder)");
  const Operation& conv = graph.main().operation(graph.main().order()[0]);
  const Operation& relu = graph.main().operation(graph.main().order()[1]);
  EXPECT_EQ(*find_source(graph, "conv1"), "model.py:42 (encoder)");
  EXPECT_EQ(describe(graph, conv), "node \"conv1\" (Relu), model.py:42 (encoder)");
  EXPECT_EQ(find_source(graph, "relu1"), nullptr);
  EXPECT_EQ(describe(graph, relu), relu.describe());
}

TEST(Source, TwoOperationsOfOneNameHaveNone) {
  Graph graph = two_operations();
  set_source(graph, "conv1", "model.py:1");
  set_source(graph, "conv1", "model.py:1");
  EXPECT_NE(find_source(graph, "conv1"), nullptr);
  set_source(graph, "conv1", "model.py:2");
  EXPECT_EQ(find_source(graph, "conv1"), nullptr);
  set_source(graph, "conv1", "model.py:2");
  EXPECT_EQ(find_source(graph, "conv1"), nullptr);
}

TEST(Source, StaleOnesAreDroppedAndOtherFactsStay) {
  Graph graph = two_operations();
  graph.metadata["producer"] = "maker";
  set_source(graph, "conv1", "a.py:1");
  set_source(graph, "gone", "a.py:2");
  drop_stale_sources(graph);
  EXPECT_EQ(graph.metadata.size(), 2U);
  EXPECT_NE(find_source(graph, "conv1"), nullptr);
}

TEST(Source, SurvivesTheTextForm) {
  Graph graph = two_operations();
  set_source(graph, "conv1", "a \"quoted\" b.py:1\n(x)");
  const auto parsed = parse_graph(print(graph));
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed->metadata, graph.metadata);
}

}  // namespace
}  // namespace sluice::ir
