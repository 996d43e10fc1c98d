#include "sandbox/graph/graph_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace sluice::sandbox {

using terms::runtime_error;
using terms::TensorSpec;

namespace {

// Names in errors are a client's and may be long.
constexpr std::size_t kMaxShownBytes = 200;

template <typename... Args>
Status invalid(fmt::format_string<Args...> format, Args&&... args) {
  return runtime_error(RuntimeCode::kInvalid, format, std::forward<Args>(args)...);
}

bool is_node_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, fits);
}

/// A dimension that is not known before a run is checked in the run.
bool fits(const ir::Type& from, const ir::Type& to) {
  if (!from.is_tensor() || !to.is_tensor() || from.element() != to.element()) return false;
  if (from.shape() == nullptr || to.shape() == nullptr) return true;
  return std::ranges::equal(*from.shape(), *to.shape(), ir::may_be_equal);
}

/// What fits both; nullopt if nothing does.
std::optional<ir::Type> meet(const ir::Type& a, const ir::Type& b) {
  if (!fits(a, b)) return std::nullopt;
  if (a.shape() == nullptr) return b;
  if (b.shape() == nullptr) return a;
  ir::Shape shape = *a.shape();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_known()) shape[i] = (*b.shape())[i];
  }
  return a.with_shape(std::move(shape));
}

/// Finds places of tensors, orders nodes, and writes the plan.
class Planner {
 public:
  Planner(const terms::GraphRequest& request,
          std::vector<std::shared_ptr<runtime::RequestSink>> sinks, const GraphNames* names)
      : request_(request), sinks_(std::move(sinks)), names_(names) {}

  Result<GraphPlan> plan() {
    SLUICE_TRY(check_nodes());
    SLUICE_TRY(take_edges());
    SLUICE_TRY(take_outputs());
    SLUICE_TRY(order_nodes());
    if (names_ == nullptr) {
      place_inputs();
    } else {
      SLUICE_TRY(place_named_inputs());
    }
    write_steps();
    if (names_ == nullptr) {
      write_outputs();
    } else {
      SLUICE_TRY(write_named_outputs());
    }
    write_releases();
    plan_.has_names = names_ != nullptr;
    return std::move(plan_);
  }

 private:
  struct Place {
    std::size_t node = 0;
    std::size_t index = 0;
    friend auto operator<=>(const Place& a, const Place& b) = default;
  };

  const terms::Signature& signature(std::size_t node) const { return sinks_[node]->signature(); }

  Status check_nodes() {
    SLUICE_TRY(check_size(request_));
    for (std::size_t i = 0; i < request_.nodes.size(); ++i) {
      const std::string& name = request_.nodes[i].name;
      if (names_ == nullptr && !is_node_name(name)) {
        return invalid("\"{}\" is no name of a function in a graph: letters, digits, '_' and '-'",
                       name.substr(0, kMaxShownBytes));
      }
      if (!nodes_.emplace(name, i).second) return invalid("two functions are called {}", name);
    }
    return ok_status();
  }

  Result<Place> find(const terms::GraphPort& port, bool is_output) const {
    const auto node = nodes_.find(port.node);
    if (node == nodes_.end()) {
      return invalid("{}: the graph has no function of this name",
                     port.to_string().substr(0, kMaxShownBytes));
    }
    const terms::Signature& all = signature(node->second);
    const std::vector<TensorSpec>& specs = is_output ? all.outputs : all.inputs;
    const auto it = std::ranges::find(specs, port.tensor, &TensorSpec::name);
    if (it != specs.end()) {
      return Place{node->second, static_cast<std::size_t>(it - specs.begin())};
    }
    std::string names;
    for (const TensorSpec& spec : specs) names += (names.empty() ? "" : ", ") + spec.name;
    return invalid("{}: the {} has no such {}; it has {}",
                   port.to_string().substr(0, kMaxShownBytes),
                   names_ == nullptr ? "function" : "model", is_output ? "output" : "input", names);
  }

  Status take_edges() {
    for (const terms::GraphEdge& edge : request_.edges) {
      const Place from = SLUICE_TRY(find(edge.from, true));
      const Place to = SLUICE_TRY(find(edge.to, false));
      const ir::Type& given = signature(from.node).outputs[from.index].type;
      const ir::Type& taken = signature(to.node).inputs[to.index].type;
      if (!fits(given, taken)) {
        return invalid("{} is {}, and {} takes {}", edge.from.to_string(), given.to_string(),
                       edge.to.to_string(), taken.to_string());
      }
      if (!feeds_.emplace(to, from).second) {
        return invalid("{} has two edges; an input has one at most", edge.to.to_string());
      }
      is_read_[from] = true;
    }
    return ok_status();
  }

  Status take_outputs() {
    for (const terms::GraphPort& port : request_.outputs) {
      is_wanted_[SLUICE_TRY(find(port, true))] = true;
    }
    return ok_status();
  }

  /// The first node, as they were given, whose sources all stand; until none is left.
  Status order_nodes() {
    steps_.assign(sinks_.size(), std::nullopt);
    const auto is_ready = [&](std::size_t node) {
      // feeds_ is ordered by node, so the inputs of one node are a range.
      const auto end = feeds_.lower_bound({node + 1, 0});
      return std::all_of(feeds_.lower_bound({node, 0}), end,
                         [&](const auto& feed) { return steps_[feed.second.node].has_value(); });
    };
    while (order_.size() < sinks_.size()) {
      std::size_t next = 0;
      while (next < sinks_.size() && (steps_[next] || !is_ready(next))) ++next;
      if (next == sinks_.size()) return circle();
      steps_[next] = order_.size();
      order_.push_back(next);
    }
    return ok_status();
  }

  Status circle() const {
    std::string names;
    for (std::size_t node = 0; node < sinks_.size(); ++node) {
      if (!steps_[node]) names += (names.empty() ? "" : ", ") + request_.nodes[node].name;
    }
    return invalid("edges form a circle; in it, or behind it, are {}", names);
  }

  TensorSpec named(std::size_t node, const TensorSpec& spec) const {
    // Without a batch axis: requests of a graph are not joined; its functions join.
    return {request_.nodes[node].name + "." + spec.name, spec.type, -1, spec.has_default,
            spec.default_value};
  }

  /// Calls `use` with each input that no edge leads to.
  template <typename Use>
  Status for_free_inputs(const Use& use) {
    for (std::size_t node = 0; node < sinks_.size(); ++node) {
      for (std::size_t i = 0; i < signature(node).inputs.size(); ++i) {
        if (!feeds_.contains({node, i})) SLUICE_TRY(use(Place{node, i}));
      }
    }
    return ok_status();
  }

  void place_inputs() {
    const Status placed = for_free_inputs([&](const Place& place) {
      sources_[place] = {GraphSource::kInput, plan_.signature.inputs.size()};
      plan_.signature.inputs.push_back(
          named(place.node, signature(place.node).inputs[place.index]));
      return ok_status();
    });
    (void)placed;  // nothing of it fails
  }

  Status place_named_inputs() {
    for (const GraphNames::Input& input : names_->inputs) SLUICE_TRY(place_named_input(input));
    return for_free_inputs([&](const Place& place) -> Status {
      const TensorSpec& spec = signature(place.node).inputs[place.index];
      const GraphSource source = {GraphSource::kDefault, place.index};
      if (!sources_.try_emplace(place, source).second || terms::default_of(spec)) {
        return ok_status();
      }
      return invalid("{}: nothing gives the input \"{}\"", request_.nodes[place.node].name,
                     spec.name);
    });
  }

  Status place_named_input(const GraphNames::Input& input) {
    const GraphSource source = {GraphSource::kInput, plan_.signature.inputs.size()};
    std::optional<ir::Type> type;
    for (const terms::GraphPort& port : input.to) {
      const Place to = SLUICE_TRY(find(port, false));
      const ir::Type& taken = signature(to.node).inputs[to.index].type;
      const auto both = type ? meet(*type, taken) : taken;
      if (!both) {
        return invalid("input \"{}\": {} takes {}, and {} takes {}",
                       input.name.substr(0, kMaxShownBytes), input.to.front().to_string(),
                       type->to_string(), port.to_string(), taken.to_string());
      }
      type = both;
      if (feeds_.contains(to) || !sources_.emplace(to, source).second) {
        return invalid("{} has two edges; an input has one at most", port.to_string());
      }
    }
    if (!type) {
      return invalid("nothing reads the input \"{}\"", input.name.substr(0, kMaxShownBytes));
    }
    plan_.signature.inputs.push_back({input.name, *type, -1});
    return ok_status();
  }

  void write_steps() {
    for (const std::size_t node : order_) {
      GraphStep step = {request_.nodes[node].name, sinks_[node], {}, {}};
      for (std::size_t i = 0; i < signature(node).inputs.size(); ++i) {
        const auto feed = feeds_.find({node, i});
        step.inputs.push_back(feed == feeds_.end()
                                  ? sources_.at({node, i})
                                  : GraphSource{*steps_[feed->second.node], feed->second.index});
      }
      plan_.steps.push_back(std::move(step));
    }
  }

  void write_outputs() {
    for (std::size_t node = 0; node < sinks_.size(); ++node) {
      for (std::size_t i = 0; i < signature(node).outputs.size(); ++i) {
        // An output that another function reads is inner, unless the request asks for it.
        if (is_read_.contains({node, i}) && !is_wanted_.contains({node, i})) continue;
        plan_.outputs.push_back({*steps_[node], i});
        plan_.signature.outputs.push_back(named(node, signature(node).outputs[i]));
      }
    }
  }

  Status write_named_outputs() {
    for (const GraphNames::Output& output : names_->outputs) {
      const Place from = SLUICE_TRY(find(output.from, true));
      plan_.outputs.push_back({*steps_[from.node], from.index});
      plan_.signature.outputs.push_back(
          {output.name, signature(from.node).outputs[from.index].type, -1});
    }
    return ok_status();
  }

  /// The last step that reads a tensor releases it; those of the reply stay.
  void write_releases() {
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> last;
    for (std::size_t step = 0; step < plan_.steps.size(); ++step) {
      for (const GraphSource& source : plan_.steps[step].inputs) {
        if (source.step < plan_.steps.size()) last[{source.step, source.index}] = step;
      }
    }
    for (const auto& [tensor, step] : last) {
      const GraphSource source = {tensor.first, tensor.second};
      const bool is_output = std::ranges::find(plan_.outputs, source) != plan_.outputs.end();
      if (!is_output) plan_.steps[step].releases.push_back(source);
    }
  }

  const terms::GraphRequest& request_;
  const std::vector<std::shared_ptr<runtime::RequestSink>> sinks_;
  const GraphNames* const names_;
  std::map<std::string, std::size_t> nodes_;
  std::map<Place, Place> feeds_;          ///< input: the output that it takes
  std::map<Place, GraphSource> sources_;  ///< of inputs without an edge
  std::map<Place, bool> is_read_;
  std::map<Place, bool> is_wanted_;
  std::vector<std::optional<std::size_t>> steps_;  ///< by node
  std::vector<std::size_t> order_;
  GraphPlan plan_;
};

}  // namespace

Status check_size(const terms::GraphRequest& request) {
  if (request.nodes.empty()) return invalid("a graph has at least one function");
  if (request.nodes.size() <= kMaxGraphNodes && request.edges.size() <= kMaxGraphEdges &&
      request.outputs.size() <= kMaxGraphEdges) {
    return ok_status();
  }
  return invalid("a graph has at most {} functions and {} edges", kMaxGraphNodes, kMaxGraphEdges);
}

Result<GraphPlan> plan_graph(const terms::GraphRequest& request,
                             std::vector<std::shared_ptr<runtime::RequestSink>> sinks,
                             const GraphNames* names) {
  return Planner(request, std::move(sinks), names).plan();
}

}  // namespace sluice::sandbox
