#include "sandbox/graph/graph_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json/json_reader.h"

namespace sluice::sandbox {
namespace {

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

bool has_handle(const terms::ModelInfo& model, std::string_view text) {
  return text == fmt::format("{:#x}", model.handle) || text == std::to_string(model.handle);
}

/// A handle wins over a name: names are anybody's choice.
Result<terms::ModelHandle> find_function(const std::string& text,
                                         const std::vector<terms::ModelInfo>& models) {
  std::vector<std::uint64_t> found;
  for (const terms::ModelInfo& model : models) {
    if (has_handle(model, text)) return terms::ModelHandle{model.handle};
    if (model.name == text) found.push_back(model.handle);
  }
  if (found.size() == 1) return terms::ModelHandle{found.front()};
  const std::string shown = text.substr(0, 100);
  if (!found.empty()) {
    return invalid_argument("{} models are called \"{}\"; name one by its handle", found.size(),
                            shown);
  }
  return make_error(Code::kNotFound, "no model \"{}\" is loaded; deploy it before the graph",
                    shown);
}

}  // namespace

Result<GraphFile> parse_graph_file(std::string_view text) {
  if (text.size() > static_cast<std::size_t>(kMaxGraphFileBytes)) {
    return invalid_argument("a graph's text has {} bytes; the limit is {}", text.size(),
                            kMaxGraphFileBytes);
  }
  const nlohmann::json document = SLUICE_TRY(parse_json(text));
  SLUICE_TRY(check_keys(document));
  return graph_from_json(JsonValue(document, "graph"));
}

Result<GraphFile> graph_from_json(const JsonValue& all) {
  GraphFile file;
  const JsonValue functions = SLUICE_TRY(all.field("functions"));
  for (const JsonValue& item : SLUICE_TRY(functions.as_items(kMaxGraphNodes))) {
    file.functions.push_back(function_of(SLUICE_TRY(item.as_text())));
  }
  for (const JsonValue& item : SLUICE_TRY(all.items_or_none("edges", kMaxGraphEdges))) {
    const std::string edge = SLUICE_TRY(item.as_text());
    file.edges.push_back(SLUICE_TRY(terms::GraphEdge::parse(edge).with_context(item.path())));
  }
  for (const JsonValue& item : SLUICE_TRY(all.items_or_none("outputs", kMaxGraphEdges))) {
    const std::string port = SLUICE_TRY(item.as_text());
    file.outputs.push_back(SLUICE_TRY(terms::GraphPort::parse(port).with_context(item.path())));
  }
  return file;
}

nlohmann::ordered_json to_json(const GraphFile& file) {
  nlohmann::ordered_json json = {{"functions", nlohmann::ordered_json::array()}};
  for (const GraphFile::Function& one : file.functions) {
    json["functions"].push_back(one.name + "=" + one.function);
  }
  for (const terms::GraphEdge& edge : file.edges) {
    json["edges"].push_back(edge.from.to_string() + "=" + edge.to.to_string());
  }
  for (const terms::GraphPort& output : file.outputs) json["outputs"].push_back(output.to_string());
  return json;
}

Result<terms::GraphRequest> to_request(GraphFile file, std::string name,
                                       const std::vector<terms::ModelInfo>& models) {
  terms::GraphRequest request;
  request.name = std::move(name);
  for (GraphFile::Function& one : file.functions) {
    const auto function = SLUICE_TRY(find_function(one.function, models));
    request.nodes.push_back({std::move(one.name), function});
  }
  request.edges = std::move(file.edges);
  request.outputs = std::move(file.outputs);
  return request;
}

}  // namespace sluice::sandbox
