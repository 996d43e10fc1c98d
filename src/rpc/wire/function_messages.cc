#include "rpc/wire/function_messages.h"

#include "base/utf8.h"
#include "rpc/wire/convert.h"
#include "rpc/wire/fields.h"

namespace sluice::rpc::wire {
namespace {

void to_proto(const terms::GraphNode& from, v1::GraphNode& to) {
  to.set_name(from.name);
  to.set_function(static_cast<std::uint64_t>(from.function));
}

terms::GraphNode node_of(const v1::GraphNode& from) {
  return {from.name(), terms::ModelHandle{from.function()}};
}

void to_proto(const terms::GraphPort& from, v1::GraphPort& to) {
  to.set_node(from.node);
  to.set_tensor(from.tensor);
}

terms::GraphPort port_of(const v1::GraphPort& from) { return {from.node(), from.tensor()}; }

void to_proto(const terms::ProgramOptions& from, v1::Program& to) {
  for (const std::string& argument : from.arguments) to.add_arguments(valid_utf8(argument));
  to.set_stays(from.stays);
}

terms::ProgramOptions program_of(const v1::Program& from) {
  return {{from.arguments().begin(), from.arguments().end()}, from.stays()};
}

void read(const v1::FunctionOptions& from, terms::FunctionOptions& to) {
  read_options(from, to);
  if (from.has_program()) to.program = program_of(from.program());
}

}  // namespace

void to_proto(const terms::FunctionOptions& from, v1::FunctionOptions& to) {
  write_fields(from, to);
  if (from.program) to_proto(*from.program, *to.mutable_program());
}

Result<terms::FunctionOptions> from_proto(const v1::FunctionOptions& from) {
  terms::FunctionOptions options;
  read(from, options);
  SLUICE_TRY(terms::check(options));
  return options;
}

void to_proto(const terms::FunctionState& from, v1::FunctionState& to) {
  to_proto(from.options, *to.mutable_options());
  to.set_phase(std::string(terms::phase_name(from.phase)));
  write_fields(from, to);
}

terms::FunctionState from_proto(const v1::FunctionState& from) {
  terms::FunctionState to;
  read(from.options(), to.options);
  to.phase = terms::parse_function_phase(from.phase());
  read_fields(from, to);
  return to;
}

void to_proto(const terms::GraphState& from, v1::GraphState& to) {
  for (const terms::GraphNode& node : from.nodes) to_proto(node, *to.add_nodes());
}

terms::GraphState from_proto(const v1::GraphState& from) {
  terms::GraphState to;
  for (const v1::GraphNode& node : from.nodes()) to.nodes.push_back(node_of(node));
  return to;
}

void to_proto(const terms::GraphRequest& from, v1::DeployGraphRequest& to) {
  to.set_name(from.name);
  for (const terms::GraphNode& node : from.nodes) to_proto(node, *to.add_nodes());
  for (const terms::GraphEdge& edge : from.edges) {
    v1::GraphEdge& one = *to.add_edges();
    to_proto(edge.from, *one.mutable_from());
    to_proto(edge.to, *one.mutable_to());
  }
  for (const terms::GraphPort& port : from.outputs) to_proto(port, *to.add_outputs());
}

terms::GraphRequest from_proto(const v1::DeployGraphRequest& from) {
  terms::GraphRequest to;
  to.name = from.name();
  for (const v1::GraphNode& node : from.nodes()) to.nodes.push_back(node_of(node));
  for (const v1::GraphEdge& edge : from.edges()) {
    to.edges.push_back({port_of(edge.from()), port_of(edge.to())});
  }
  for (const v1::GraphPort& port : from.outputs()) to.outputs.push_back(port_of(port));
  return to;
}

v1::BringTensorRequest bring_request(std::uint64_t exchange, terms::DeviceId device) {
  v1::BringTensorRequest request;
  request.set_exchange(exchange);
  request.set_device(device.value());
  return request;
}

std::optional<terms::DeviceId> brought_from(const v1::BringTensorResponse& response) {
  if (!response.has_from()) return std::nullopt;
  return terms::DeviceId(response.from());
}

v1::PullTensorRequest pull_request(const terms::OfferedTensor& wanted, std::int64_t ttl_ns) {
  v1::PullTensorRequest request;
  request.set_from(wanted.address);
  request.set_exchange(wanted.exchange);
  request.set_key(wanted.key);
  request.set_ttl_ns(ttl_ns);
  return request;
}

Result<terms::PulledTensor> pulled_tensor(v1::PullTensorResponse response) {
  // With an index view_of() expects no bytes: the tensor stays in the daemon.
  response.mutable_tensor()->set_exchange(response.exchange());
  return terms::PulledTensor{terms::TensorIndex{response.exchange()},
                             SLUICE_TRY(view_of(response.tensor()))};
}

}  // namespace sluice::rpc::wire
