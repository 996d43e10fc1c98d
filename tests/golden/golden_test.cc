// Graphs before and after passes, one case per file of this folder:
//
//     // pass: identities, dead_code     the passes, in order
//     // refuse: Where                   optional: no backend takes these operators, or bodies
//     // a line on what the case is about     with them
//     subgraph @0 "main" { ... }
//     // ----
//     subgraph @0 "main" { ... }         what must come out
//
// The graph before is given default attributes and inferred types, so they may be left out there.
// SLUICE_REFRESH_GOLDEN=1 writes what comes out into the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "ir/text/graph_text.h"
#include "ir/verify.h"
#include "ops/inference.h"
#include "ops/schema.h"
#include "passes/pass_manager.h"
#include "support/paths.h"

namespace sluice {
namespace {

constexpr std::string_view kSeparator = "// ----\n";

struct GoldenCase {
  std::string head;  ///< all before the separator
  std::string expected;
  std::vector<passes::Pass> passes;
  std::set<std::string> refused;
};

std::vector<std::string> words_after(const std::string& line, std::string_view key) {
  std::vector<std::string> words;
  if (!line.starts_with(key)) return words;
  std::istringstream stream(line.substr(key.size()));
  for (std::string word; std::getline(stream >> std::ws, word, ',');) words.push_back(word);
  return words;
}

Result<GoldenCase> read_case(const std::filesystem::path& path) {
  const std::string text = SLUICE_TRY(read_text_file(path));
  const std::size_t end = text.find(kSeparator);
  GoldenCase golden;
  golden.head = text.substr(0, end);
  if (end != std::string::npos) golden.expected = text.substr(end + kSeparator.size());
  std::istringstream lines(golden.head);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string& name : words_after(line, "// pass: ")) {
      const passes::Pass* pass = passes::find_pass(name);
      if (pass == nullptr) return invalid_argument("no pass is named \"{}\"", name);
      golden.passes.push_back(*pass);
    }
    for (const std::string& kind : words_after(line, "// refuse: ")) golden.refused.insert(kind);
  }
  if (golden.passes.empty()) return invalid_argument("no line \"// pass: name\"");
  return golden;
}

Status complete(ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.num_subgraphs(); ++i) {
    ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(i));
    const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
    for (const ir::OperationId id : order) {
      ir::Operation operation = subgraph.operation(id);
      const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
      if (schema == nullptr) return invalid_argument("unknown: {}", operation.describe());
      SLUICE_TRY(ops::normalize(*schema, subgraph, operation));
      subgraph.operation(id) = std::move(operation);
    }
  }
  SLUICE_TRY(ops::infer_types(graph));
  return ir::verify(graph);
}

passes::Acceptance refuse(const std::set<std::string>& kinds) {
  return [&kinds](const ir::Graph& graph, const ir::Subgraph&, const ir::Operation& operation) {
    if (kinds.contains(operation.kind)) return false;
    if (!operation.body) return true;
    const ir::Subgraph& body = graph.subgraph(operation.body->subgraph);
    return std::none_of(body.order().begin(), body.order().end(), [&](ir::OperationId id) {
      return kinds.contains(body.operation(id).kind);
    });
  };
}

/// The text after the passes; the graph must still be well-formed, of the same inferred types.
Result<std::string> run_case(const GoldenCase& golden) {
  ir::Graph graph = SLUICE_TRY(ir::parse_graph(golden.head));
  SLUICE_TRY(complete(graph).with_context("before"));
  passes::PassContext context;
  context.accepts = refuse(golden.refused);
  SLUICE_TRY(passes::run_passes(graph, golden.passes, context));
  SLUICE_TRY(ir::verify(graph).with_context("after"));
  std::string text = ir::print(graph);
  SLUICE_TRY(ops::infer_types(graph).with_context("after"));
  if (ir::print(graph) != text) return internal_error("the types are not inferred:\n{}", text);
  return text;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, PassOutputMatchesTheGoldenFile) {
  const auto path = testing::source_path("tests/golden/" + GetParam() + ".ir");
  const auto golden = read_case(path);
  ASSERT_TRUE(golden.is_ok()) << golden.status().to_string();
  const auto text = run_case(*golden);
  ASSERT_TRUE(text.is_ok()) << text.status().to_string();
  if (std::getenv("SLUICE_REFRESH_GOLDEN") != nullptr) {
    const std::string refreshed = golden->head + std::string(kSeparator) + *text;
    ASSERT_TRUE(write_file_atomically(path, std::as_bytes(std::span(refreshed))).is_ok());
    return;
  }
  EXPECT_EQ(*text, golden->expected);
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::source_path("tests/golden"))) {
    if (entry.path().extension() == ".ir") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Passes, Golden, ::testing::ValuesIn(case_names()),
                         [](const auto& golden) { return golden.param; });

}  // namespace
}  // namespace sluice
