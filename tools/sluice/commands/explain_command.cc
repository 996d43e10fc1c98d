#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>

#include "base/file.h"
#include "base/text/plural.h"
#include "compile/explain.h"
#include "exec/loaded_model.h"
#include "sluice/cli/command.h"
#include "sluice/model/model_source.h"
#include "sluice/model/segment_drawing.h"

namespace sluice::tool {
namespace {

nlohmann::json node_json(const compile::NodePlacement& node) {
  nlohmann::json json = {{"subgraph", node.subgraph}, {"position", node.position},
                         {"name", node.name},         {"operator", node.kind},
                         {"backend", nullptr},        {"why", node.why},
                         {"segment", nullptr},        {"alternatives", nlohmann::json::array()}};
  if (!node.backend.empty()) json["backend"] = node.backend;
  if (node.segment >= 0) json["segment"] = node.segment;
  for (const compile::Alternative& other : node.alternatives) {
    json["alternatives"].push_back({{"backend", other.backend},
                                    {"supported", other.is_supported},
                                    {"reason", other.reason},
                                    {"generic", other.is_generic},
                                    {"cost_ns", other.cost_ns}});
  }
  return json;
}

nlohmann::json to_json(const compile::Explanation& explanation) {
  nlohmann::json json = {{"nodes", nlohmann::json::array()},
                         {"segments", nlohmann::json::array()},
                         {"edges", nlohmann::json::array()}};
  for (const auto& node : explanation.nodes) json["nodes"].push_back(node_json(node));
  for (const compile::SegmentSummary& segment : explanation.segments) {
    json["segments"].push_back({{"name", segment.name},
                                {"backend", segment.backend},
                                {"cores", segment.cores},
                                {"operations", segment.num_operations},
                                {"cost_ns", segment.cost_ns}});
  }
  for (const compile::SegmentEdge& edge : explanation.edges) {
    json["edges"].push_back({{"from", edge.from},
                             {"to", edge.to},
                             {"tensors", edge.num_tensors},
                             {"size_bytes", edge.size_bytes}});
  }
  return json;
}

/// The predicted memory of a context.
nlohmann::json memory_json(const exec::LoadedModel& model) {
  const auto arena = model.arena_use();
  nlohmann::json json = {{"arena_bytes", arena.arena_bytes},
                         {"lower_bound_bytes", arena.lower_bound_bytes},
                         {"context_bytes", model.context_bytes()},
                         {"devices", nlohmann::json::array()}};
  for (const auto& use : model.device_use()) {
    json["devices"].push_back({{"backend", use.backend},
                               {"device", use.device},
                               {"constant_bytes", use.constant_bytes},
                               {"tensor_bytes", use.tensor_bytes}});
  }
  return json;
}

void print_memory(const exec::LoadedModel& model) {
  if (!model.has_static_shapes()) {
    fmt::print("\nmemory: known only when shapes are\n");
    return;
  }
  const auto arena = model.arena_use();
  const auto bound = static_cast<double>(std::max<std::int64_t>(arena.lower_bound_bytes, 1));
  fmt::print(
      "\nmemory of a context: {} bytes; arena {} bytes, {:.1f} % above the lower bound of {}\n",
      model.context_bytes(), arena.arena_bytes,
      (static_cast<double>(arena.arena_bytes) / bound - 1) * 100, arena.lower_bound_bytes);
  for (const auto& use : model.device_use()) {
    fmt::print("memory of {}:{}: {} bytes of constants, {} bytes of tensors\n", use.backend,
               use.device, use.constant_bytes, use.tensor_bytes);
  }
}

/// "reference 1.2 us, sim: no kernel for Conv".
std::string others_of(const compile::NodePlacement& node) {
  std::string text;
  for (const compile::Alternative& other : node.alternatives) {
    if (other.backend == node.backend) continue;
    if (!text.empty()) text += ", ";
    text += other.backend;
    if (!other.is_supported) {
      text += ": " + other.reason;
    } else if (other.cost_ns > 0) {
      text += fmt::format(" {:.1f} us", other.cost_ns / 1e3);
    }
  }
  return text.empty() ? "-" : text;
}

std::string cost_of(const compile::NodePlacement& node) {
  for (const compile::Alternative& own : node.alternatives) {
    if (own.backend == node.backend && own.cost_ns > 0) {
      return fmt::format("{:.1f}", own.cost_ns / 1e3);
    }
  }
  return "-";
}

class ExplainCommand : public Command {
 public:
  const char* name() const override { return "explain"; }

  void add_options(Options& options) override {
    options_.add_to(options);
    options
        .add("--ask", asked_,
             "Backends whose support and cost to show (default: the model's, then all "
             "others that load)")
        .separated_by_commas();
    options.flag("--json", is_json_, "Print one JSON object; costs are in nanoseconds");
    options.add("--svg", svg_, "Write a picture of the segments to this file");
  }

  Result<int> run() override {
    const auto executable = SLUICE_TRY(open_model(options_));
    // Loaded for its plan of memory; nothing runs.
    const auto model = SLUICE_TRY(exec::LoadedModel::load(executable, backend_registry(), {}));
    const auto explanation =
        SLUICE_TRY(compile::explain(executable, SLUICE_TRY(backends_for(executable))));
    if (!svg_.empty()) {
      const std::string svg = draw_segments(explanation);
      SLUICE_TRY(write_file_atomically(svg_, std::as_bytes(std::span(svg))));
    }
    if (is_json_) {
      nlohmann::json json = to_json(explanation);
      json["memory"] = memory_json(model);
      fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      print(explanation);
      print_memory(model);
    }
    return 0;
  }

 private:
  /// The model's backends first, in its order of preference, then all others that load.
  Result<std::vector<std::shared_ptr<const backend::Backend>>> backends_for(
      const package::Executable& executable) const {
    std::vector<std::shared_ptr<const backend::Backend>> backends;
    for (const std::string& name : asked_.empty() ? executable.backends : asked_) {
      auto backend = SLUICE_TRY(backend_registry().find(name));
      if (std::ranges::find(backends, backend) == backends.end()) {
        backends.push_back(std::move(backend));
      }
    }
    if (!asked_.empty()) return backends;
    for (const backend::Plugin& plugin : backend_registry().all()) {
      if (plugin.backend == nullptr) continue;  // `sluice doctor` tells why
      if (std::ranges::find(backends, plugin.backend) == backends.end()) {
        backends.push_back(plugin.backend);
      }
    }
    return backends;
  }

  static void print(const compile::Explanation& explanation) {
    fmt::print("{:>4} {:>7}  {:<28} {:<24} {:<10} {:>10}  {:<40} {}\n", "node", "segment", "name",
               "operator", "backend", "cost, us", "why", "others");
    for (const compile::NodePlacement& node : explanation.nodes) {
      fmt::print(
          "{:>4} {:>7}  {:<28} {:<24} {:<10} {:>10}  {:<40} {}\n", node.position,
          node.segment < 0 ? fmt::format("body {}", node.subgraph) : std::to_string(node.segment),
          node.name.empty() ? "-" : node.name, node.kind, node.backend.empty() ? "-" : node.backend,
          cost_of(node), node.why, others_of(node));
    }
    fmt::print("\n{:>7}  {:<28} {:<10} {:>10} {:>12}\n", "segment", "name", "backend", "operations",
               "cost, us");
    for (std::size_t i = 0; i < explanation.segments.size(); ++i) {
      const compile::SegmentSummary& segment = explanation.segments[i];
      fmt::print("{:>7}  {:<28} {:<10} {:>10} {:>12.1f}\n", i, segment.name,
                 segment.backend.empty() ? "-" : segment.backend, segment.num_operations,
                 segment.cost_ns / 1e3);
    }
    for (const compile::SegmentEdge& edge : explanation.edges) {
      fmt::print("segment {} -> {}: {}, {}\n", edge.from, edge.to,
                 counted(edge.num_tensors, "tensor"), counted(edge.size_bytes, "byte"));
    }
  }

  ModelOptions options_;
  std::vector<std::string> asked_;
  std::string svg_;
  bool is_json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace sluice::tool
