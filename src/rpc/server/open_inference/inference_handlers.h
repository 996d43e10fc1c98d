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

/// Callers, roles, requests in flight and limits are those of `handlers`.
class InferenceHandlers final {
 public:
  /// `handlers` outlive this.
  InferenceHandlers(Handlers& handlers, repository::Repository& repository)
      : handlers_(handlers), repository_(repository) {}

  /// Adds the calls of the protocol.
  void add_to(Methods& methods);

  using Context = CallContext;

  // NOLINTBEGIN(readability-identifier-naming): the calls have the names of the protocol.
  void ServerLive(Context* context, const inference::ServerLiveRequest* request,
                  inference::ServerLiveResponse* response);
  void ServerReady(Context* context, const inference::ServerReadyRequest* request,
                   inference::ServerReadyResponse* response);
  void ModelInfer(Context* context, const std::shared_ptr<OpenInferMessages>& messages);
  void ModelStreamInfer(Context* context);
  // NOLINTEND(readability-identifier-naming)

 private:
  Handlers& handlers_;
  repository::Repository& repository_;
};

inline constexpr std::string_view kInferenceService = "inference.GRPCInferenceService";

/// Adds the calls about shared memory, and those about settings.
void add_memory_calls(Handlers& handlers, Methods& methods);
void add_setting_calls(Handlers& handlers, Methods& methods);

}  // namespace sluice::rpc::server
