// Status on the wire: gRPC's code and message, and the runtime's code with causes as detail.
#pragma once

#include <grpcpp/support/status.h>

#include "base/status.h"
#include "runtime/runtime_code.h"

namespace sluice::rpc {

/// Long messages are cut, so that they fit a trailer.
grpc::Status to_grpc(const Status& status);
/// Requires: not empty.
grpc::Status to_grpc(const runtime::ErrorList& errors);

/// With the runtime's code as detail where the peer sent one; else what the gRPC code suggests.
/// Bytes that are no detail of ours are ignored.
Status from_grpc(const grpc::Status& status);

}  // namespace sluice::rpc
