// How the client opens a stream.
#pragma once

#include <functional>
#include <memory>

#include "proto/sluice/v1/runtime.grpc.pb.h"
#include "rpc/client/infer_stream.h"
#include "rpc/client/shared_tensors.h"

namespace sluice::rpc::client {

/// What a call's end means to a user.
using StatusReader = std::function<Status(const grpc::Status&)>;

/// `prepare` adds the caller's token to the call's context. Borrows `shared`, the shared memory of
/// inputs.
std::unique_ptr<InferStream> open_stream(v1::Runtime::Stub& stub, const SharedTable& shared,
                                         const std::function<void(grpc::ClientContext&)>& prepare,
                                         StatusReader read_status);

}  // namespace sluice::rpc::client
