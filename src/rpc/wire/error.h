// Status on the wire: gRPC's code and message, and the runtime's code with causes as detail.
#pragma once

#include <grpcpp/support/status.h>

#include "base/status.h"
#include "proto/sluice/v1/control.pb.h"
#include "terms/runtime_code.h"

namespace sluice::rpc::wire {

/// Long messages are cut, so that they fit a trailer.
grpc::Status to_grpc(const Status& status);
/// Requires: not empty.
grpc::Status to_grpc(const terms::ErrorList& errors);

/// The same as a message, for an error of one request among several on a call.
void to_proto(const Status& status, v1::ErrorStatus& to);
void to_proto(const terms::ErrorList& errors, v1::ErrorStatus& to);
/// As from_grpc. An error whose code is OK becomes kInternal.
Status from_proto(const v1::ErrorStatus& from);

/// The detail is the runtime's code if the peer sent one, otherwise the default for the gRPC code.
/// Unknown detail bytes are ignored.
Status from_grpc(const grpc::Status& status);

}  // namespace sluice::rpc::wire
