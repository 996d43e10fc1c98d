#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sluice/remote/remote.h"
#include "sluice/remote/repeated.h"
#include "sluice/tensors/outputs.h"
#include "terms/runtime_code.h"

namespace sluice::tool {

using nlohmann::json;

namespace {

// The members of the JSON that commands print. Scripts read them, so names stay and units ride in
// them.
json tensors(const std::vector<terms::TensorSpec>& specs) {
  json all = json::array();
  for (const terms::TensorSpec& spec : specs) {
    all.push_back(
        {{"name", spec.name}, {"type", spec.type.to_string()}, {"has_default", spec.has_default}});
  }
  return all;
}

/// The fields of a struct, beside those of `all`.
template <typename Struct>
json with_fields(const Struct& from, json all = json::object()) {
  Struct::visit_fields([&](const terms::Field& field, auto of) { all[field.name] = of(from); });
  return all;
}

json to_json(const terms::Footprint& from) {
  return with_fields(from, {{"total_bytes", from.total_bytes()}});
}

json to_json(const terms::FunctionState& from) {
  json all =
      with_fields(from.options, with_fields(from, {{"phase", terms::phase_name(from.phase)}}));
  if (from.options.program) {
    all["program"] = {{"arguments", from.options.program->arguments},
                      {"stays", from.options.program->stays}};
  }
  return all;
}

json to_json(const terms::GraphState& from) {
  json functions = json::array();
  for (const terms::GraphNode& node : from.nodes) {
    functions.push_back(
        {{"name", node.name}, {"function", static_cast<std::uint64_t>(node.function)}});
  }
  return {{"functions", std::move(functions)}};
}

json to_json(const terms::ModelEntry& from) {
  json all = {{"model", from.info.handle},
              {"name", from.info.name},
              {"version", from.version},
              {"phase", terms::phase_name(from.info.phase)},
              {"group", from.info.group.value()},
              {"mode", from.info.mode == terms::LoadMode::kShared ? "shared" : "normal"},
              {"session", static_cast<std::uint64_t>(from.session)},
              {"footprint", to_json(from.info.footprint)},
              {"inputs", tensors(from.signature.inputs)},
              {"outputs", tensors(from.signature.outputs)}};
  if (from.function) all["function"] = to_json(*from.function);
  if (from.graph) all["graph"] = to_json(*from.graph);
  return with_fields(from.info, std::move(all));
}

json to_json(const terms::GroupEntry& from) {
  json cores = json::array();
  for (const terms::CoreRef& core : from.info.cores) {
    cores.push_back({{"device", core.device.value()}, {"core", core.core}});
  }
  return with_fields(from.info, {{"group", from.info.id.value()},
                                 {"is_implicit", from.info.origin == terms::GroupOrigin::kImplicit},
                                 {"cores", std::move(cores)},
                                 {"isolation", terms::isolation_name(from.info.worker.isolation)},
                                 {"worker_process", from.info.worker.process},
                                 {"num_worker_restarts", from.info.worker.num_restarts},
                                 {"worker_state", from.info.worker.state},
                                 {"worker_reason", from.info.worker.reason},
                                 {"session", static_cast<std::uint64_t>(from.session)}});
}

json to_json(const terms::SessionInfo& from) {
  return with_fields(from,
                     with_fields(from.peer, {{"session", static_cast<std::uint64_t>(from.id)}}));
}

json to_json(const terms::ModelStatistics& from) {
  json answered = json::object();
  for (const terms::CodeCount& one : from.answered) {
    answered[std::string(terms::describe(one.code).name)] = one.count;
  }
  return with_fields(from, {{"model", from.model},
                            {"name", from.name},
                            {"answered", std::move(answered)},
                            {"queue", with_fields(from.queue)},
                            {"copy", with_fields(from.copy)},
                            {"compute", with_fields(from.compute)},
                            {"total", with_fields(from.total)}});
}

json to_json(const terms::ServerInfo& from) {
  json devices = json::array();
  for (const terms::Device& device : from.devices) {
    devices.push_back(with_fields(device, {{"device", device.id.value()}}));
  }
  return with_fields(from, {{"devices", std::move(devices)},
                            {"roles", terms::to_string(from.roles)},
                            {"model_folders", from.model_folders}});
}

json to_json(const terms::ServerHealth& from) {
  json models = json::array();
  for (const terms::ModelHealth& one : from.models) {
    models.push_back(with_fields(one.health, {{"model", one.model},
                                              {"name", one.name},
                                              {"state", terms::health_name(one.health.state)}}));
  }
  json devices = json::array();
  for (const terms::DeviceHealth& one : from.devices) {
    devices.push_back(with_fields(one.health, {{"device", one.device.value()},
                                               {"state", terms::health_name(one.health.state)}}));
  }
  return with_fields(from, {{"models", std::move(models)},
                            {"devices", std::move(devices)},
                            {"descriptors", from.descriptors.num_open},
                            {"max_descriptors", from.descriptors.max_open}});
}

json to_json(const rpc::client::InferReply& from, const std::vector<std::string>& files) {
  json outputs = json::array();
  for (std::size_t i = 0; i < from.outputs.size(); ++i) {
    const terms::NamedTensor& output = from.outputs[i];
    outputs.push_back({{"name", output.name}, {"type", type_text(output.view)}});
    if (output.exchange != 0) outputs.back()["exchange"] = output.exchange;
    if (i < files.size() && output.exchange == 0) outputs.back()["file"] = files[i];
  }
  return {{"code", static_cast<std::int32_t>(from.code)},
          {"outputs", std::move(outputs)},
          {"group", from.detail.group},
          {"cores", from.detail.cores},
          {"backends", from.detail.backends},
          {"queue_ns", from.detail.queue_ns},
          {"copy_ns", from.detail.copy_ns},
          {"compute_ns", from.detail.compute_ns}};
}

// A name that is not UTF-8 gets replacement characters: it may not end the program.
void print(const json& value) {
  fmt::print("{}\n", value.dump(2, ' ', false, json::error_handler_t::replace));
}

template <typename Entry>
void print_list(const std::vector<Entry>& entries) {
  json all = json::array();
  for (const Entry& entry : entries) all.push_back(to_json(entry));
  print(all);
}

}  // namespace

void print_json(const terms::ModelEntry& model) { print(to_json(model)); }
void print_json(const std::vector<terms::ModelEntry>& models) { print_list(models); }
void print_json(const terms::GroupEntry& group) { print(to_json(group)); }
void print_json(const std::vector<terms::GroupEntry>& groups) { print_list(groups); }
void print_json(const std::vector<terms::SessionInfo>& sessions) { print_list(sessions); }
void print_json(const std::vector<terms::ModelStatistics>& statistics) { print_list(statistics); }
void print_json(const terms::Footprint& footprint) { print(to_json(footprint)); }
void print_json(const rpc::client::InferReply& reply, const std::vector<std::string>& files) {
  print(to_json(reply, files));
}
void print_json(const RepeatReport& report) {
  const perf::Window& figures = report.figures;
  print({{"answered", figures.latencies_ns.size()},
         {"failed", figures.num_failed},
         {"first_error",
          figures.first_error.is_ok() ? json() : json(figures.first_error.to_string())},
         {"duration_ns", figures.duration_ns},
         {"per_s", figures.per_second()},
         {"p50_ns", figures.latency_ns(0.5)},
         {"p99_ns", figures.latency_ns(0.99)},
         {"longest_ns", figures.latency_ns(1)}});
}
void print_json(const char* key, std::uint64_t handle) { print({{key, handle}}); }

void print_json(const terms::ServerInfo& server, const terms::ServerHealth& health) {
  json all = to_json(server);
  all["health"] = to_json(health);
  print(all);
}

}  // namespace sluice::tool
