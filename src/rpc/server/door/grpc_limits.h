// Limits of the daemon's gRPC servers.
#pragma once

#include <grpcpp/server_builder.h>

#include <cstdint>

namespace sluice::rpc::server {

/// Of messages, headers and calls; a client over TCP whose machine is gone is noticed in 20 s.
/// `memory_bytes`: of all connections together, before their calls are authenticated.
void set_limits(grpc::ServerBuilder& builder, std::int64_t max_message_bytes,
                std::int64_t memory_bytes);

}  // namespace sluice::rpc::server
