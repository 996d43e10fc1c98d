// Limits of the daemon's gRPC servers.
#pragma once

#include <grpcpp/server_builder.h>

#include <cstdint>

namespace sluice::rpc::server {

/// Limits messages, headers and calls; a client over TCP whose machine is gone is noticed in 20 s.
/// `memory_bytes`: of all connections together, before their calls are authenticated.
void set_limits(grpc::ServerBuilder& builder, std::int64_t max_message_bytes,
                std::int64_t memory_bytes);

/// Asks clients to connect anew after this time; calls in flight, sessions and streams among them,
/// end where they are. 0: never.
void set_connection_age(grpc::ServerBuilder& builder, std::int64_t age_ns);

}  // namespace sluice::rpc::server
