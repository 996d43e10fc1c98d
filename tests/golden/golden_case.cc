#include "golden/golden_case.h"

#include <algorithm>
#include <sstream>

#include "base/file.h"
#include "ir/verify.h"
#include "ops/inference.h"
#include "ops/schema.h"
#include "support/paths.h"

namespace sluice::golden {
namespace {

constexpr std::string_view kNotRun = "// not run: ";

std::vector<std::string> words_after(const std::string& line, std::string_view key) {
  std::vector<std::string> words;
  if (!line.starts_with(key)) return words;
  std::istringstream stream(line.substr(key.size()));
  for (std::string word; std::getline(stream >> std::ws, word, ',');) words.push_back(word);
  return words;
}

}  // namespace

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
    for (const std::string& kind : words_after(line, "// halves: ")) golden.halves.insert(kind);
    for (const std::string& number : words_after(line, "// of largest: ")) {
      golden.slack.of_largest = std::stod(number);
    }
    for (const std::string& number : words_after(line, "// steps: ")) {
      golden.slack.steps = std::stoi(number);
    }
    for (const std::string& name : words_after(line, "// keep: ")) golden.kept.insert(name);
    if (line.starts_with(kNotRun)) golden.not_run = line.substr(kNotRun.size());
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

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::source_path("tests/golden"))) {
    if (entry.path().extension() == ".ir") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::filesystem::path path_of(std::string_view name) {
  return testing::source_path("tests/golden/" + std::string(name) + ".ir");
}

}  // namespace sluice::golden
