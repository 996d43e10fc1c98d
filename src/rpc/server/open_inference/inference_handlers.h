// The calls of the Open Inference Protocol: what each does with the Service.
#pragma once

#include "proto/open_inference/service.pb.h"
#include "repository/repository.h"
#include "rpc/server/calls/handlers.h"
#include "rpc/server/open_inference/infer_request.h"

namespace sluice::rpc::server {

/// A unary inference, from its request to its answer.
struct OpenInferMessages {
  inference::ModelInferRequest request;
  inference::ModelInferResponse response;
  OpenInferCall call;
  ByteCharge charge;  ///< of the response
};

inline constexpr std::string_view kInferenceService = "inference.GRPCInferenceService";

/// Adds the calls of the protocol. Callers, roles, requests in flight and limits are those of
/// `handlers`, which outlive the table as `repository` does.
void add_inference_calls(Handlers& handlers, repository::Repository& repository, Methods& methods);

// Parts of it.
void add_memory_calls(Handlers& handlers, Methods& methods);
void add_setting_calls(Handlers& handlers, Methods& methods);
void infer_stream(Handlers& handlers, CallContext* context);

}  // namespace sluice::rpc::server
