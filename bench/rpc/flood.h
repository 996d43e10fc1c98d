// Requests per second with 64 in flight.
#pragma once

#include <string>

#include "proto/sluice/v1/runtime.grpc.pb.h"

namespace sluice::bench {

/// Each answer brings the next request.
double flood_grpc(v1::Runtime::Stub& stub, const v1::InferRequest& request);

/// Over a ring of a session of its own. `model`: f32[1,64] to f32[1,10], everybody's.
double flood_ring(const std::string& side_socket, std::uint64_t model);

}  // namespace sluice::bench
