// Messages about functions to plain data and back.
#pragma once

#include "proto/sluice/v1/function.pb.h"
#include "proto/sluice/v1/graph.pb.h"
#include "terms/function.h"
#include "terms/graph.h"

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

}  // namespace sluice::rpc::wire
