// What the client's calls share: messages of requests and answers.
#pragma once

#include <functional>
#include <memory>

#include "proto/sluice/v1/runtime.grpc.pb.h"
#include "rpc/infer_stream.h"

namespace sluice::rpc {

void write_request(std::uint64_t model, const std::vector<NamedTensor>& inputs,
                   const InferOptions& options, v1::InferRequest& to);

/// Views into the answer, which the reply shares. Fails: as view_of.
Result<InferReply> reply_of(std::shared_ptr<const v1::InferResponse> answer);

/// What a call's end means to a user.
using StatusReader = std::function<Status(const grpc::Status&)>;

/// `prepare` adds to the call's context who calls.
std::unique_ptr<InferStream> open_stream(v1::Runtime::Stub& stub,
                                         const std::function<void(grpc::ClientContext&)>& prepare,
                                         StatusReader read_status);

}  // namespace sluice::rpc
