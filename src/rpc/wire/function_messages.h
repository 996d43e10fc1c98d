// Messages about functions, and about tensors that they exchange, to plain data and back.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "proto/sluice/v1/exchange.pb.h"
#include "proto/sluice/v1/function.pb.h"
#include "proto/sluice/v1/graph.pb.h"
#include "terms/device.h"
#include "terms/function.h"
#include "terms/graph.h"
#include "terms/tensors/exchange.h"

namespace sluice::rpc::wire {

void to_proto(const terms::FunctionOptions& from, v1::FunctionOptions& to);
/// Options that a client sent. Fails: as sandbox::check.
Result<terms::FunctionOptions> from_proto(const v1::FunctionOptions& from);

void to_proto(const terms::FunctionState& from, v1::FunctionState& to);
/// A state that the daemon sent.
terms::FunctionState from_proto(const v1::FunctionState& from);

void to_proto(const terms::GraphState& from, v1::GraphState& to);
terms::GraphState from_proto(const v1::GraphState& from);
void to_proto(const terms::GraphRequest& from, v1::DeployGraphRequest& to);
/// A graph that a client sent; sandbox::plan_graph checks it.
terms::GraphRequest from_proto(const v1::DeployGraphRequest& from);

v1::BringTensorRequest bring_request(std::uint64_t exchange, terms::DeviceId device);
/// The device that the copy came from; none: the host.
std::optional<terms::DeviceId> brought_from(const v1::BringTensorResponse& response);

v1::PullTensorRequest pull_request(const terms::OfferedTensor& wanted, std::int64_t ttl_ns);
/// Fails: as view_of.
Result<terms::PulledTensor> pulled_tensor(v1::PullTensorResponse response);

}  // namespace sluice::rpc::wire
