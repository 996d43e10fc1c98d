// Messages about functions to plain data and back.
#pragma once

#include "proto/sluice/v1/function.pb.h"
#include "sandbox/function.h"

namespace sluice::rpc::wire {

void to_proto(const sandbox::FunctionOptions& from, v1::FunctionOptions& to);
/// Of a client. Fails: as sandbox::check.
Result<sandbox::FunctionOptions> from_proto(const v1::FunctionOptions& from);

void to_proto(const sandbox::FunctionState& from, v1::FunctionState& to);
/// Of the daemon.
sandbox::FunctionState from_proto(const v1::FunctionState& from);

}  // namespace sluice::rpc::wire
