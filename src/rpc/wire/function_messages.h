// Messages about functions to plain data and back.
#pragma once

#include "proto/sluice/v1/function.pb.h"
#include "proto/sluice/v1/graph.pb.h"
#include "sandbox/function.h"
#include "sandbox/graph/graph_host.h"

namespace sluice::rpc::wire {

void to_proto(const sandbox::FunctionOptions& from, v1::FunctionOptions& to);
/// Of a client. Fails: as sandbox::check.
Result<sandbox::FunctionOptions> from_proto(const v1::FunctionOptions& from);

void to_proto(const sandbox::FunctionState& from, v1::FunctionState& to);
/// Of the daemon.
sandbox::FunctionState from_proto(const v1::FunctionState& from);

void to_proto(const sandbox::GraphState& from, v1::GraphState& to);
sandbox::GraphState from_proto(const v1::GraphState& from);
void to_proto(const sandbox::GraphRequest& from, v1::DeployGraphRequest& to);
/// Of a client; sandbox::plan_graph checks it.
sandbox::GraphRequest from_proto(const v1::DeployGraphRequest& from);

}  // namespace sluice::rpc::wire
