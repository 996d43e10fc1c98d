#include "sandbox/graph/graph_host.h"

#include <algorithm>
#include <utility>

namespace sluice::sandbox {

using terms::ModelHandle;
using terms::runtime_error;

namespace {

Status no_phases() {
  return runtime_error(RuntimeCode::kFailed,
                       "a graph holds no memory and is always started; start or stop its "
                       "functions");
}

}  // namespace

terms::ModelInfo GraphHost::describe(std::uint64_t handle, const FunctionGraph& graph) const {
  terms::ModelInfo info;
  info.handle = handle;
  info.name = graph.name();
  info.phase = terms::ModelPhase::kStarted;
  info.depth = graph.depth();
  // The slots are the functions'.
  info.num_slots = 0;
  return info;
}

Status GraphHost::check_room() const {
  if (models_.all().size() < kMaxGraphs) return ok_status();
  return runtime_error(RuntimeCode::kOutOfResources,
                       "{} graphs are deployed, which is the limit; remove one", kMaxGraphs);
}

Result<ModelHandle> GraphHost::deploy(terms::GraphRequest request) {
  // Two deployments at once could both pass the limit.
  const std::lock_guard change(change_mutex_);
  SLUICE_TRY(check_room());
  std::vector<std::shared_ptr<runtime::RequestSink>> sinks;
  for (const terms::GraphNode& node : request.nodes) {
    // A sink keeps its function's lane alive; check_unused keeps the function deployed.
    sinks.push_back(SLUICE_TRY(functions_.sink(node.function).with_context(node.name)));
  }
  GraphPlan plan = SLUICE_TRY(plan_graph(request, std::move(sinks)));
  return ModelHandle(models_.insert(std::make_shared<FunctionGraph>(
      std::move(request), std::move(plan), exchange_, functions_.clock())));
}

Result<ModelHandle> GraphHost::add(terms::GraphRequest request, GraphPlan plan) {
  const std::lock_guard change(change_mutex_);
  SLUICE_TRY(check_room());
  return ModelHandle(models_.insert(std::make_shared<FunctionGraph>(
      std::move(request), std::move(plan), exchange_, functions_.clock())));
}

Result<terms::GraphState> GraphHost::state(ModelHandle handle) const {
  return terms::GraphState{SLUICE_TRY(find(handle))->nodes()};
}

Status GraphHost::check_unused(ModelHandle function) const {
  for (const auto& [handle, graph] : models_.all()) {
    const auto node = std::ranges::find(graph->nodes(), function, &terms::GraphNode::function);
    if (node == graph->nodes().end()) continue;
    return runtime_error(RuntimeCode::kFailed,
                         "graph {} ({:#x}) has it as {}; remove the graph first", graph->name(),
                         handle, node->name);
  }
  return ok_status();
}

Result<ModelHandle> GraphHost::load(const runtime::LoadRequest& /*request*/,
                                    const std::stop_token& /*stop*/) {
  return runtime_error(RuntimeCode::kInvalid, "a package is no graph of functions");
}

Status GraphHost::start(ModelHandle handle) {
  (void)SLUICE_TRY(find(handle));
  return no_phases();
}

Status GraphHost::stop(ModelHandle handle, std::int64_t /*drain_deadline_ns*/) {
  return start(handle);
}

Status GraphHost::unload(ModelHandle handle, std::int64_t drain_deadline_ns) {
  const auto graph = SLUICE_TRY(find(handle));
  // Drained before the removal, so that the handle serves requests under way.
  graph->shutdown(drain_deadline_ns);
  if (models_.remove(static_cast<std::uint64_t>(handle)) != nullptr) {
    return ok_status();
  }
  return find(handle).status();  // another thread was first
}

Result<runtime::ModelStatisticsSnapshot> GraphHost::statistics(ModelHandle handle) const {
  return SLUICE_TRY(find(handle))->statistics();
}

Result<std::shared_ptr<runtime::RequestSink>> GraphHost::sink(ModelHandle handle) const {
  return std::shared_ptr<runtime::RequestSink>(SLUICE_TRY(find(handle)));
}

void GraphHost::shutdown(std::int64_t drain_deadline_ns) {
  for (const auto& [handle, graph] : models_.all()) graph->shutdown(drain_deadline_ns);
}

}  // namespace sluice::sandbox
