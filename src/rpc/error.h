// Status on the wire: gRPC's code and message, and the runtime's code with causes as detail.
#pragma once

#include <grpcpp/support/status.h>

#include "base/status.h"
#include "proto/sluice/v1/control.pb.h"
#include "runtime/runtime_code.h"

namespace sluice::rpc {

/// Long messages are cut, so that they fit a trailer.
grpc::Status to_grpc(const Status& status);
/// Requires: not empty.
grpc::Status to_grpc(const runtime::ErrorList& errors);

/// The same as a message, for an error of one request among several on a call.
void to_proto(const Status& status, v1::ErrorStatus& to);
void to_proto(const runtime::ErrorList& errors, v1::ErrorStatus& to);
/// As from_grpc. An error that says it is none is one: kInternal.
Status from_proto(const v1::ErrorStatus& from);

/// With the runtime's code as detail where the peer sent one; else what the gRPC code suggests.
/// Bytes that are no detail of ours are ignored.
Status from_grpc(const grpc::Status& status);

}  // namespace sluice::rpc
