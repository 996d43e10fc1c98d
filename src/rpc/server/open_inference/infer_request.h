// Messages of an inference by the Open Inference Protocol.
#pragma once

#include <deque>
#include <string>

#include "base/byte_budget.h"
#include "dispatch/model_ref.h"
#include "open_inference/request.h"
#include "proto/open_inference/service.pb.h"

namespace sluice::rpc::server {

/// A request that was read from a message.
struct OpenInferCall {
  open_inference::InferRequest plain;  ///< points into the message and `contents`
  std::deque<std::string> contents;    ///< of inputs whose elements came one by one
  open_inference::Owners owners;
};

/// Fails: kBadInput for parameters, types and contents that cannot be; kInvalid for an extension
///        that the server lacks.
Status read_request(const inference::ModelInferRequest& from, OpenInferCall& to);

/// Fills `to`, all tensors raw. `limit_bytes`: of one answer. `charge`: of its bytes.
/// Fails: the reply's error; as open_inference::outputs_of; kOutOfResources over the limit or the
///        budget of `charge`.
Status write_response(const runtime::Reply& reply, const dispatch::ModelRef& model,
                      const inference::ModelInferRequest& request,
                      const open_inference::InferRequest& plain, std::int64_t limit_bytes,
                      ByteCharge& charge, inference::ModelInferResponse& to);

}  // namespace sluice::rpc::server
