// grpc.reflection: tools such as grpcurl learn from it which calls and messages the daemon has.
// libgrpc++_reflection knows v1alpha alone, and no tokens.
#pragma once

#include "rpc/server/calls/handlers.h"

namespace sluice::rpc::server {

/// Adds the calls of grpc.reflection.v1 and v1alpha, which clients know from before v1. They
/// describe the services that the daemon's main server has. Any client with a role may ask.
void add_reflection_calls(Handlers& handlers, Methods& methods);

}  // namespace sluice::rpc::server
