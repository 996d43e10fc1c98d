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
  void ModelReady(Context* context, const inference::ModelReadyRequest* request,
                  inference::ModelReadyResponse* response);
  void ServerMetadata(Context* context, const inference::ServerMetadataRequest* request,
                      inference::ServerMetadataResponse* response);
  void ModelMetadata(Context* context, const inference::ModelMetadataRequest* request,
                     inference::ModelMetadataResponse* response);
  void ModelInfer(Context* context, const std::shared_ptr<OpenInferMessages>& messages);
  void ModelStreamInfer(Context* context);
  void ModelConfig(Context* context, const inference::ModelConfigRequest* request,
                   inference::ModelConfigResponse* response);
  void ModelStatistics(Context* context, const inference::ModelStatisticsRequest* request,
                       inference::ModelStatisticsResponse* response);
  void RepositoryIndex(Context* context, const inference::RepositoryIndexRequest* request,
                       inference::RepositoryIndexResponse* response);
  void RepositoryModelLoad(Context* context, const inference::RepositoryModelLoadRequest* request,
                           inference::RepositoryModelLoadResponse* response);
  void RepositoryModelUnload(Context* context,
                             const inference::RepositoryModelUnloadRequest* request,
                             inference::RepositoryModelUnloadResponse* response);
  void SystemSharedMemoryStatus(Context* context,
                                const inference::SystemSharedMemoryStatusRequest* request,
                                inference::SystemSharedMemoryStatusResponse* response);
  void SystemSharedMemoryRegister(Context* context,
                                  const inference::SystemSharedMemoryRegisterRequest* request,
                                  inference::SystemSharedMemoryRegisterResponse* response);
  void SystemSharedMemoryUnregister(Context* context,
                                    const inference::SystemSharedMemoryUnregisterRequest* request,
                                    inference::SystemSharedMemoryUnregisterResponse* response);
  void CudaSharedMemoryStatus(Context* context,
                              const inference::CudaSharedMemoryStatusRequest* request,
                              inference::CudaSharedMemoryStatusResponse* response);
  void CudaSharedMemoryRegister(Context* context,
                                const inference::CudaSharedMemoryRegisterRequest* request,
                                inference::CudaSharedMemoryRegisterResponse* response);
  void CudaSharedMemoryUnregister(Context* context,
                                  const inference::CudaSharedMemoryUnregisterRequest* request,
                                  inference::CudaSharedMemoryUnregisterResponse* response);
  void LogSettings(Context* context, const inference::LogSettingsRequest* request,
                   inference::LogSettingsResponse* response);

  void TraceSetting(Context* context, const inference::TraceSettingRequest* request,
                    inference::TraceSettingResponse* response);
  // NOLINTEND(readability-identifier-naming)

 private:
  service::Service& service() const { return handlers_.service(); }

  Handlers& handlers_;
  repository::Repository& repository_;
};

/// Reactors delete themselves when their call is done.
void infer(Handlers& handlers, CallContext& context,
           const std::shared_ptr<OpenInferMessages>& messages);
void infer_stream_open(Handlers& handlers, CallContext& context);

}  // namespace sluice::rpc::server
