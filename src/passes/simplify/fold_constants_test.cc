#include <gtest/gtest.h>

#include "ir/text/graph_text.h"
#include "passes/pass_manager.h"

namespace sluice::passes {
namespace {

/// Knows Neg of f32.
Result<std::vector<ir::Constant>> evaluate(const ir::Subgraph& subgraph,
                                           const ir::Operation& operation) {
  if (!operation.is("Neg")) return unimplemented("not Neg");
  const ir::Constant& x = *subgraph.find_constant(operation.inputs[0]);
  std::vector<float> negated;
  const auto values = ir::float_values(x);
  for (const double value : *values) negated.push_back(static_cast<float>(-value));
  return std::vector<ir::Constant>{ir::make_f32_constant(negated, *x.type.shape())};
}

std::string fold(std::string_view text) {
  auto graph = ir::parse_graph(text);
  EXPECT_TRUE(graph.is_ok()) << graph.status().to_string();
  PassContext context;
  context.evaluate = evaluate;
  const std::vector<Pass> passes = {*find_pass("fold_constants"), *find_pass("dead_code")};
  const auto reports = run_passes(*graph, passes, context);
  EXPECT_TRUE(reports.is_ok()) << reports.status().to_string();
  return ir::print(*graph);
}

TEST(FoldConstants, ComputesChainsOfConstants) {
  EXPECT_EQ(fold(R"(subgraph @0 "main" {
  const %c : f32[2] = [1.0, 2.0]
  [%a : f32[2]] = Neg.13[%c]
  [%b : f32[2]] = Neg.13[%a]
  output [%b]
})"),
            R"(subgraph @0 "main" {
  const %b : f32[2] = [1.0, 2.0]
  output [%b]
}
)");
}

TEST(FoldConstants, KeepsOperationsThatFailToEvaluate) {
  const std::string text = R"(subgraph @0 "main" {
  const %c : f32[2] = [1.0, 2.0]
  [%a : f32[2]] = Abs.13[%c]
  output [%a]
}
)";
  EXPECT_EQ(fold(text), text);
}

TEST(FoldConstants, KeepsOperationsWhoseResultWouldGrowTheModel) {
  const std::string text = R"(subgraph @0 "main" {
  const %c : f32[] = [1.0]
  [%a : f32[4096,4096]] = Neg.13[%c]
  output [%a]
}
)";
  EXPECT_EQ(fold(text), text);
}

/// Each of 60 operations doubles its input: 2^60 elements in the end.
TEST(FoldConstants, StopsDoublingConstants) {
  std::string text = "subgraph @0 \"main\" {\n  const %c0 : f32[1] = [1.0]\n";
  std::int64_t size = 1;
  constexpr int kSteps = 60;
  for (int i = 0; i < kSteps; ++i) {
    size *= 2;
    text +=
        fmt::format("  [%c{} : f32[{}]] = Concat.13[%c{}, %c{}] {{axis = 0}}\n", i + 1, size, i, i);
  }
  text += fmt::format("  output [%c{}]\n}}\n", kSteps);
  auto graph = ir::parse_graph(text);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  PassContext context;
  std::int64_t largest = 0;
  context.evaluate = [&](const ir::Subgraph& subgraph,
                         const ir::Operation& operation) -> Result<std::vector<ir::Constant>> {
    const ir::Type& type = subgraph.operand(operation.outputs[0]).type;
    largest = *ir::storage_bytes(type);
    std::vector<std::byte> zeros(static_cast<std::size_t>(largest));
    return std::vector<ir::Constant>{{type, Bytes::own(std::move(zeros))}};
  };
  const std::vector<Pass> passes = {*find_pass("fold_constants")};
  ASSERT_TRUE(run_passes(*graph, passes, context).is_ok());
  EXPECT_LE(largest, std::int64_t{256} << 20);
  EXPECT_GT(graph->main().num_operations(), 30U);
}

/// The types of strings do not tell how long they are.
TEST(FoldConstants, StopsDoublingStrings) {
  std::string text = "subgraph @0 \"main\" {\n  const %c0 : string[1] = hex ";
  text += "0000000000000000010000000000000061\n";
  constexpr int kSteps = 60;
  for (int i = 0; i < kSteps; ++i) {
    text += fmt::format("  [%c{} : string[1]] = StringConcat.20[%c{}, %c{}]\n", i + 1, i, i);
  }
  text += fmt::format("  output [%c{}]\n}}\n", kSteps);
  auto graph = ir::parse_graph(text);
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  PassContext context;
  std::int64_t kept = 0;
  context.evaluate = [&](const ir::Subgraph& subgraph,
                         const ir::Operation& operation) -> Result<std::vector<ir::Constant>> {
    const ir::Constant& half = *subgraph.find_constant(operation.inputs[0]);
    kept += static_cast<std::int64_t>(half.data.size());
    std::vector<std::byte> twice(half.data.size() * 2);
    return std::vector<ir::Constant>{{half.type, Bytes::own(std::move(twice))}};
  };
  const std::vector<Pass> passes = {*find_pass("fold_constants")};
  ASSERT_TRUE(run_passes(*graph, passes, context).is_ok());
  EXPECT_LE(kept, std::int64_t{512} << 20);
  EXPECT_GT(graph->main().num_operations(), 30U);
}

TEST(FoldConstants, NeverFoldsRandomNumbers) {
  const std::string text = R"(subgraph @0 "main" {
  [%a : f32[2]] = RandomNormal.22[] {shape = [2]}
  output [%a]
}
)";
  EXPECT_EQ(fold(text), text);
}

TEST(RunPasses, ReportsTheEffectOfEachPass) {
  auto graph = ir::parse_graph(R"(subgraph @0 "main" {
  input %x : f32[2]
  [%a : f32[2]] = Identity.25[%x]
  [%b : f32[2]] = Relu.14[%a]
  output [%b]
})");
  ASSERT_TRUE(graph.is_ok());
  const std::vector<Pass> passes = {*find_pass("identities"), *find_pass("dead_code")};
  const auto reports = run_passes(*graph, passes, {});
  ASSERT_TRUE(reports.is_ok());
  ASSERT_EQ(reports->size(), 2U);
  EXPECT_EQ((*reports)[0].name, "identities");
  EXPECT_EQ((*reports)[0].num_rewrites, 1);
  EXPECT_EQ((*reports)[0].operations_before, 2U);
  EXPECT_EQ((*reports)[0].operations_after, 1U);
  EXPECT_EQ((*reports)[1].num_rewrites, 0);
}

TEST(DefaultPipeline, NamesEveryPassOnceInFindPass) {
  for (const Pass& pass : default_pipeline()) {
    ASSERT_NE(find_pass(pass.name), nullptr);
    EXPECT_EQ(find_pass(pass.name)->run, pass.run);
  }
  EXPECT_EQ(find_pass("nothing"), nullptr);
}

TEST(FoldConstants, SharesTheBytesOfAConstantWithItsViews) {
  auto graph = ir::parse_graph(R"(subgraph @0 "main" {
  const %c : f32[4] = [1.0, 2.0, 3.0, 4.0]
  const %s : i64[2] = [2, 2]
  [%v : f32[2,2]] = Reshape.14[%c, %s]
  output [%c, %v]
})");
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  PassContext context;
  context.evaluate = [](const ir::Subgraph& subgraph,
                        const ir::Operation& operation) -> Result<std::vector<ir::Constant>> {
    ir::Constant copy = *subgraph.find_constant(operation.inputs[0]);
    copy.type = ir::Type::tensor(copy.type.element(), ir::Shape{2, 2});
    copy.data = MutableBytes::copy_of(copy.data.view()).freeze();
    return std::vector<ir::Constant>{copy};
  };
  ASSERT_TRUE(run_passes(*graph, std::vector<Pass>{*find_pass("fold_constants")}, context).is_ok());
  const ir::Subgraph& main = graph->main();
  const ir::Constant* view = main.find_constant(main.outputs[1]);
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(view->data.data(), main.find_constant(main.outputs[0])->data.data());
}

}  // namespace
}  // namespace sluice::passes
