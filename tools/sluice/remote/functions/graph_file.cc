#include "sluice/remote/functions/graph_file.h"

#include <algorithm>
#include <array>

#include "topology/map/json_reader.h"

namespace sluice::tool {
namespace {

using topology::JsonValue;

constexpr std::array<std::string_view, 3> kKeys = {"functions", "edges", "outputs"};

Status check_keys(const nlohmann::json& document) {
  if (!document.is_object()) return invalid_argument("a graph is an object with functions");
  for (const auto& [key, value] : document.items()) {
    if (std::ranges::find(kKeys, key) == kKeys.end()) {
      return invalid_argument("{}: no such key; there are functions, edges and outputs",
                              key.substr(0, 100));
    }
  }
  return ok_status();
}

GraphFile::Function function_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {text, text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

Result<GraphFile> parse_graph_file(std::string_view text) {
  const nlohmann::json document = SLUICE_TRY(topology::parse_json(text));
  SLUICE_TRY(check_keys(document));
  const JsonValue all(document, "graph");
  GraphFile file;
  const JsonValue functions = SLUICE_TRY(all.field("functions"));
  for (const JsonValue& item : SLUICE_TRY(functions.as_items(sandbox::kMaxGraphNodes))) {
    file.functions.push_back(function_of(SLUICE_TRY(item.as_text())));
  }
  for (const JsonValue& item : SLUICE_TRY(all.items_or_none("edges", sandbox::kMaxGraphEdges))) {
    const std::string edge = SLUICE_TRY(item.as_text());
    file.edges.push_back(SLUICE_TRY(sandbox::GraphEdge::parse(edge).with_context(item.path())));
  }
  for (const JsonValue& item : SLUICE_TRY(all.items_or_none("outputs", sandbox::kMaxGraphEdges))) {
    const std::string port = SLUICE_TRY(item.as_text());
    file.outputs.push_back(SLUICE_TRY(sandbox::GraphPort::parse(port).with_context(item.path())));
  }
  return file;
}

}  // namespace sluice::tool
