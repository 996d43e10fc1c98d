#include "compile/link/link_graphs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ops/inference.h"

namespace sluice::compile {
namespace {

using Symbols = std::map<std::string, ir::Dim>;  ///< what a model's symbols stand for

bool is_symbol(const ir::Dim& dim) {
  const std::string text = dim.to_string();
  // An expression such as 2*N has other characters: an edge binds names, it solves no equations.
  return !dim.is_known() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.';
  });
}

std::vector<std::string> names_of(const ir::Subgraph& main,
                                  const std::vector<ir::OperandId>& operands) {
  std::vector<std::string> names;
  for (const ir::OperandId id : operands) names.push_back(main.operand(id).name);
  return names;
}

Result<std::size_t> find_port(const ModelPort& port, const ir::Subgraph& main,
                              const std::vector<ir::OperandId>& operands, std::string_view what) {
  const auto names = names_of(main, operands);
  const auto found = std::ranges::find(names, port.operand);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  return invalid_argument("model \"{}\" has no {} \"{}\"; it has {}", port.model, what,
                          port.operand, fmt::join(names, ", "));
}

class Linker {
 public:
  explicit Linker(LinkRequest request) : request_(std::move(request)) {}

  Result<ir::Graph> run() {
    SLUICE_TRY(check_names());
    for (LinkedModel& model : request_.models) {
      // Before the edges: outputs whose type the file leaves out are compared by what they become.
      SLUICE_TRY(ops::infer_types(model.graph).with_context("model \"" + model.name + "\""));
    }
    SLUICE_TRY(find_edges());
    for (const std::size_t index : SLUICE_TRY(sort_models())) SLUICE_TRY(append(index));
    SLUICE_TRY(add_outputs());
    return std::move(linked_);
  }

 private:
  ir::Graph& graph(std::size_t model) { return request_.models[model].graph; }
  const std::string& name(std::size_t model) const { return request_.models[model].name; }

  Status check_names() {
    std::set<std::string> seen;
    for (const LinkedModel& model : request_.models) {
      const bool is_plain =
          !model.name.empty() && std::ranges::all_of(model.name, [](unsigned char c) {
            return std::isalnum(c) != 0 || c == '_' || c == '-';
          });
      if (!is_plain) {
        return invalid_argument("\"{}\" is no name of a model: use letters, digits, _ and -",
                                model.name);
      }
      if (!seen.insert(model.name).second) {
        return invalid_argument("two models are named \"{}\"", model.name);
      }
    }
    return ok_status();
  }

  Result<std::size_t> find_model(const ModelPort& port) const {
    for (std::size_t i = 0; i < request_.models.size(); ++i) {
      if (name(i) == port.model) return i;
    }
    return invalid_argument("\"{}\": no model is named \"{}\"", port.to_string(), port.model);
  }

  struct Source {
    std::size_t model = 0;
    std::size_t output = 0;
    std::string text;  ///< of the edge
  };

  Status find_edges() {
    sources_.resize(request_.models.size());
    is_read_.resize(request_.models.size());
    for (std::size_t i = 0; i < request_.models.size(); ++i) {
      sources_[i].resize(graph(i).main().inputs.size());
      is_read_[i].resize(graph(i).main().outputs.size());
    }
    for (const ModelEdge& edge : request_.edges) {
      const std::string text = edge.from.to_string() + "=" + edge.to.to_string();
      SLUICE_TRY(add_edge(edge, text).with_context("edge " + text));
    }
    return ok_status();
  }

  Status add_edge(const ModelEdge& edge, const std::string& text) {
    const std::size_t from = SLUICE_TRY(find_model(edge.from));
    const std::size_t to = SLUICE_TRY(find_model(edge.to));
    const ir::Subgraph& writer = graph(from).main();
    const ir::Subgraph& reader = graph(to).main();
    const std::size_t output = SLUICE_TRY(find_port(edge.from, writer, writer.outputs, "output"));
    const std::size_t input = SLUICE_TRY(find_port(edge.to, reader, reader.inputs, "input"));
    std::optional<Source>& source = sources_[to][input];
    if (source)
      return invalid_argument("input \"{}\" has an edge already: {}", edge.to.to_string(),
                              source->text);
    source = Source{from, output, text};
    is_read_[from][output] = true;
    return ok_status();
  }

  /// The first model, in the order given, whose sources have all been placed.
  Result<std::vector<std::size_t>> sort_models() {
    std::vector<std::size_t> order;
    std::vector<bool> is_placed(request_.models.size(), false);
    while (order.size() < request_.models.size()) {
      const std::size_t before = order.size();
      // From the first model again after each one: the order given wins wherever edges allow it, so
      // equal requests give equal graphs.
      for (std::size_t i = 0; i < is_placed.size() && order.size() == before; ++i) {
        const bool is_ready = std::ranges::all_of(
            sources_[i], [&](const auto& source) { return !source || is_placed[source->model]; });
        if (is_placed[i] || !is_ready) continue;
        is_placed[i] = true;
        order.push_back(i);
      }
      if (order.size() == before) return circle(is_placed);
    }
    return order;
  }

  /// Follows edges backwards among models that wait for each other, until one comes again.
  Status circle(const std::vector<bool>& is_placed) const {
    auto at = static_cast<std::size_t>(std::ranges::find(is_placed, false) - is_placed.begin());
    std::vector<std::size_t> way;
    while (std::ranges::find(way, at) == way.end()) {
      way.push_back(at);
      for (const auto& source : sources_[at]) {
        if (source && !is_placed[source->model]) at = source->model;
      }
    }
    std::string text = name(at);
    for (auto it = way.rbegin(); it != way.rend(); ++it) {
      text += " -> " + name(*it);
      if (*it == at) break;
    }
    return invalid_argument("the edges form a circle: {}", text);
  }

  Status append(std::size_t model) {
    ir::Graph& from = graph(model);
    const std::string& prefix = name(model);
    auto symbols = SLUICE_TRY(bind_symbols(model));
    const auto rename = [&](std::string_view symbol) -> std::optional<ir::Dim> {
      const auto found = symbols.find(std::string(symbol));
      if (found != symbols.end()) return found->second;
      // Two models may both call a dimension N without meaning the same number.
      return ir::Dim::symbol("m_" + safe(prefix) + "." + std::string(symbol));
    };
    // Subgraph 0 joins the main one; the others follow in order.
    const std::size_t base = linked_.num_subgraphs() - 1;
    for (std::size_t i = 1; i < from.num_subgraphs(); ++i) {
      ir::Subgraph& copy =
          linked_.subgraph(linked_.add_subgraph(from.subgraph(ir::SubgraphId(i)).name));
      copy = from.subgraph(ir::SubgraphId(i));
      for (std::size_t o = 0; o < copy.num_operands(); ++o) {
        substitute(copy.operand(ir::OperandId(o)).type, rename);
      }
      for (const ir::OperationId id : copy.order()) move_references(copy.operation(id), base);
    }
    append_main(model, base, rename);
    for (const auto& [key, value] : from.metadata) {
      // Facts of the models do not collide: names of models are unique and have no dot.
      linked_.metadata[fmt::format("{}.{}", prefix, key)] = value;
    }
    std::string& models = linked_.metadata[kModelsFact];
    models += (models.empty() ? "" : " ") + prefix;
    return ok_status();
  }

  static std::string safe(std::string name) {
    std::ranges::replace(name, '-', '_');
    return name;
  }

  static void substitute(ir::Type& type, const ir::Dim::Lookup& rename) {
    if (!type.is_tensor() || type.shape() == nullptr) return;
    ir::Shape shape = *type.shape();
    for (ir::Dim& dim : shape) dim = dim.substitute(rename);
    type = type.with_shape(std::move(shape));
  }

  /// Subgraph i of a model is subgraph base + i of the whole.
  static void move_references(ir::Operation& operation, std::size_t base) {
    ir::Attributes moved;
    for (const auto& [key, value] : operation.attributes) {
      const auto* callee = std::get_if<ir::SubgraphId>(&value);
      if (callee == nullptr) {
        moved.set(key, value);
      } else {
        moved.set(key, ir::SubgraphId(base + callee->index()));
      }
    }
    operation.attributes = std::move(moved);
    if (operation.body) {
      operation.body->subgraph = ir::SubgraphId(base + operation.body->subgraph.index());
    }
  }

  void append_main(std::size_t model, std::size_t base, const ir::Dim::Lookup& rename) {
    const ir::Subgraph& from = graph(model).main();
    ir::Subgraph& main = linked_.main();
    std::vector<ir::OperandId> moved(from.num_operands());
    for (std::size_t i = 0; i < from.inputs.size(); ++i) {
      const auto& source = sources_[model][i];
      // The edge: the input of this model is the very operand that the other model writes.
      if (source) moved[from.inputs[i].index()] = outputs_[{source->model, source->output}];
    }
    for (std::size_t i = 0; i < from.num_operands(); ++i) {
      if (moved[i].is_valid()) continue;
      ir::Operand operand = from.operand(ir::OperandId(i));
      substitute(operand.type, rename);
      if (!operand.name.empty()) operand.name = name(model) + "." + operand.name;
      moved[i] = main.add_operand(std::move(operand));
    }
    for (std::size_t i = 0; i < from.inputs.size(); ++i) {
      if (!sources_[model][i]) main.inputs.push_back(moved[from.inputs[i].index()]);
    }
    const auto move = [&](ir::OperandId& id) {
      if (id.is_valid()) id = moved[id.index()];
    };
    for (const ir::OperationId id : from.order()) {
      ir::Operation operation = from.operation(id);
      std::ranges::for_each(operation.inputs, move);
      std::ranges::for_each(operation.outputs, move);
      if (operation.body) std::ranges::for_each(operation.body->inputs, move);
      move_references(operation, base);
      operation.name = name(model) + "/" + operation.name;
      main.add_operation(std::move(operation));
    }
    for (std::size_t i = 0; i < from.outputs.size(); ++i) {
      outputs_[{model, i}] = moved[from.outputs[i].index()];
    }
  }

  /// What the symbols of a model's inputs stand for, by the types that its edges bring.
  Result<Symbols> bind_symbols(std::size_t model) {
    Symbols symbols;
    const ir::Subgraph& main = graph(model).main();
    for (std::size_t i = 0; i < main.inputs.size(); ++i) {
      const auto& source = sources_[model][i];
      if (!source) continue;
      const ir::Type& wanted = main.operand(main.inputs[i]).type;
      const ir::Type& given =
          linked_.main().operand(outputs_[{source->model, source->output}]).type;
      if (fits(given, wanted, symbols)) continue;
      return invalid_argument("edge {}: the output is {}, the input takes {}", source->text,
                              given.to_string(), wanted.to_string());
    }
    return symbols;
  }

  static bool fits(const ir::Type& given, const ir::Type& wanted, Symbols& symbols) {
    if (!given.is_tensor() || !wanted.is_tensor()) return given == wanted;
    if (given.element() != wanted.element()) return false;
    const ir::Shape* from = given.shape();
    const ir::Shape* to = wanted.shape();
    // Unknown shapes are checked at the run.
    if (from == nullptr || to == nullptr) return true;
    if (from->size() != to->size()) return false;
    for (std::size_t i = 0; i < from->size(); ++i) {
      const ir::Dim& want = (*to)[i];
      if (is_symbol(want)) {
        const auto [bound, is_new] = symbols.try_emplace(want.to_string(), (*from)[i]);
        // One symbol stands for one number, over all edges of the model.
        if (!is_new && !(bound->second == (*from)[i])) return false;
      } else if (!(want == (*from)[i])) {
        return false;
      }
    }
    return true;
  }

  Status add_outputs() {
    std::set<std::pair<std::size_t, std::size_t>> wanted;
    for (const ModelPort& port : request_.outputs) {
      const std::size_t model = SLUICE_TRY(find_model(port));
      const ir::Subgraph& main = graph(model).main();
      wanted.emplace(model, SLUICE_TRY(find_port(port, main, main.outputs, "output")));
    }
    ir::Subgraph& main = linked_.main();
    for (std::size_t model = 0; model < request_.models.size(); ++model) {
      for (std::size_t i = 0; i < is_read_[model].size(); ++i) {
        // An output that an edge reads is inner, unless it was asked for.
        if (is_read_[model][i] && !wanted.contains({model, i})) continue;
        main.outputs.push_back(outputs_[{model, i}]);
      }
    }
    return ok_status();
  }

  LinkRequest request_;
  ir::Graph linked_;
  std::vector<std::vector<std::optional<Source>>> sources_;  ///< by model and input
  std::vector<std::vector<bool>> is_read_;                   ///< by model and output: by an edge
  std::map<std::pair<std::size_t, std::size_t>, ir::OperandId> outputs_;  ///< of models appended
};

}  // namespace

Result<ModelPort> ModelPort::parse(const std::string& text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == text.size()) {
    return invalid_argument("\"{}\" is no MODEL.NAME, such as encoder.y", text);
  }
  return ModelPort{text.substr(0, dot), text.substr(dot + 1)};
}

Result<ModelEdge> ModelEdge::parse(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return invalid_argument("\"{}\" is no edge; write it as encoder.y=decoder.x", text);
  }
  ModelEdge edge;
  edge.from = SLUICE_TRY(ModelPort::parse(text.substr(0, equals)));
  edge.to = SLUICE_TRY(ModelPort::parse(text.substr(equals + 1)));
  return edge;
}

Result<ir::Graph> link_graphs(LinkRequest request) { return Linker(std::move(request)).run(); }

std::vector<std::pair<std::string, std::size_t>> model_starts(const ir::Graph& graph) {
  const auto fact = graph.metadata.find(kModelsFact);
  if (fact == graph.metadata.end()) return {};
  std::vector<std::pair<std::string, std::size_t>> starts;
  const ir::Subgraph& main = graph.main();
  for (std::size_t at = 0; at < main.order().size(); ++at) {
    const std::string& node = main.operation(main.order()[at]).name;
    const std::string model = node.substr(0, node.find('/'));
    // A node that a pass made anew has no name and belongs to the model before it.
    if (model.size() == node.size() || (!starts.empty() && starts.back().first == model)) continue;
    if (std::ranges::find(starts, model, [](const auto& s) { return s.first; }) != starts.end()) {
      return {};
    }
    starts.emplace_back(model, starts.empty() ? 0 : at);
  }
  return starts;
}

}  // namespace sluice::compile
