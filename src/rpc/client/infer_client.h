// An inference over gRPC, as its client writes and reads it.
#pragma once

#include <memory>

#include "proto/sluice/v1/inference.pb.h"
#include "rpc/client/client.h"

namespace sluice::rpc::client {

/// Sends the place of a shared tensor and the bytes of any other tensor. `signature`: the model's;
/// may be null if no output has a region slice. Fails: kInvalidArgument for an output's memory that
/// is not shared.
Status write_infer(std::uint64_t model, const std::vector<terms::NamedTensor>& inputs,
                   const InferOptions& options, const SharedTable& shared,
                   const terms::Signature* signature, v1::InferRequest& to);

/// Views into `response` or, where an output has a place, into the memory of `options`.
Result<InferReply> read_infer(std::shared_ptr<const v1::InferResponse> response,
                              const InferOptions& options);

}  // namespace sluice::rpc::client
