// An inference over gRPC, as its client writes and reads it.
#pragma once

#include <memory>

#include "proto/sluice/v1/inference.pb.h"
#include "rpc/client.h"

namespace sluice::rpc {

/// Tensors that are shared go by their place, others by their bytes. `signature`: of the model, if
/// outputs have places; else it may be null.
/// Fails: kInvalidArgument for an output's memory that is not shared.
Status write_infer(std::uint64_t model, const std::vector<NamedTensor>& inputs,
                   const InferOptions& options, const SharedTable& shared,
                   const package::Signature* signature, v1::InferRequest& to);

/// Views into `response` or, where an output has a place, into the memory of `options`.
Result<InferReply> read_infer(std::shared_ptr<const v1::InferResponse> response,
                              const InferOptions& options);

}  // namespace sluice::rpc
