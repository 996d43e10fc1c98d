// The daemon's load in the form of ORCA's message, and behind the answer of a call.
#pragma once

#include "proto/orca/load_report.pb.h"
#include "rpc/server/reactor/call_context.h"
#include "service/balance/load_meter.h"

namespace sluice::rpc::server {

xds::data::orca::v3::OrcaLoadReport to_proto(const service::LoadReport& report);

/// Adds the report as trailing metadata, from which gRPC's weighted policies take it
/// (https://github.com/grpc/proposal/blob/master/A51-custom-backend-metrics.md).
/// Requires: the call has not been finished.
void add_load_trailer(const service::LoadReport& report, CallContext& context);

}  // namespace sluice::rpc::server
