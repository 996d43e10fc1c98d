// The calls of the Open Inference Protocol: what each does with the Service.
#pragma once

#include "proto/open_inference/service.grpc.pb.h"
#include "repository/repository.h"
#include "rpc/server/calls/handlers.h"
#include "rpc/server/calls/message_holder.h"
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
class InferenceHandlers final : public inference::GRPCInferenceService::CallbackService {
 public:
  /// `handlers` outlive this.
  InferenceHandlers(Handlers& handlers, repository::Repository& repository);

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* ServerLive(Context* context, const inference::ServerLiveRequest* request,
                    inference::ServerLiveResponse* response) override;
  Unary* ServerReady(Context* context, const inference::ServerReadyRequest* request,
                     inference::ServerReadyResponse* response) override;
  Unary* ModelReady(Context* context, const inference::ModelReadyRequest* request,
                    inference::ModelReadyResponse* response) override;
  Unary* ServerMetadata(Context* context, const inference::ServerMetadataRequest* request,
                        inference::ServerMetadataResponse* response) override;
  Unary* ModelMetadata(Context* context, const inference::ModelMetadataRequest* request,
                       inference::ModelMetadataResponse* response) override;
  Unary* ModelInfer(Context* context, const inference::ModelInferRequest* request,
                    inference::ModelInferResponse* response) override;
  grpc::ServerBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse>*
  ModelStreamInfer(Context* context) override;
  Unary* ModelConfig(Context* context, const inference::ModelConfigRequest* request,
                     inference::ModelConfigResponse* response) override;
  Unary* ModelStatistics(Context* context, const inference::ModelStatisticsRequest* request,
                         inference::ModelStatisticsResponse* response) override;
  Unary* RepositoryIndex(Context* context, const inference::RepositoryIndexRequest* request,
                         inference::RepositoryIndexResponse* response) override;
  Unary* RepositoryModelLoad(Context* context, const inference::RepositoryModelLoadRequest* request,
                             inference::RepositoryModelLoadResponse* response) override;
  Unary* RepositoryModelUnload(Context* context,
                               const inference::RepositoryModelUnloadRequest* request,
                               inference::RepositoryModelUnloadResponse* response) override;
  Unary* SystemSharedMemoryStatus(Context* context,
                                  const inference::SystemSharedMemoryStatusRequest* request,
                                  inference::SystemSharedMemoryStatusResponse* response) override;
  Unary* SystemSharedMemoryRegister(
      Context* context, const inference::SystemSharedMemoryRegisterRequest* request,
      inference::SystemSharedMemoryRegisterResponse* response) override;
  Unary* SystemSharedMemoryUnregister(
      Context* context, const inference::SystemSharedMemoryUnregisterRequest* request,
      inference::SystemSharedMemoryUnregisterResponse* response) override;
  Unary* CudaSharedMemoryStatus(Context* context,
                                const inference::CudaSharedMemoryStatusRequest* request,
                                inference::CudaSharedMemoryStatusResponse* response) override;
  Unary* CudaSharedMemoryRegister(Context* context,
                                  const inference::CudaSharedMemoryRegisterRequest* request,
                                  inference::CudaSharedMemoryRegisterResponse* response) override;
  Unary* CudaSharedMemoryUnregister(
      Context* context, const inference::CudaSharedMemoryUnregisterRequest* request,
      inference::CudaSharedMemoryUnregisterResponse* response) override;
  Unary* LogSettings(Context* context, const inference::LogSettingsRequest* request,
                     inference::LogSettingsResponse* response) override;

  Unary* TraceSetting(Context* context, const inference::TraceSettingRequest* request,
                      inference::TraceSettingResponse* response) override;

 private:
  service::Service& service() const { return handlers_.service(); }

  Handlers& handlers_;
  repository::Repository& repository_;
  MessageAllocator<OpenInferMessages> infer_allocator_;
};

/// Reactors delete themselves when their call is done.
grpc::ServerUnaryReactor* infer(Handlers& handlers, grpc::CallbackServerContext& context,
                                const std::shared_ptr<OpenInferMessages>& messages);
grpc::ServerBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse>*
infer_stream_open(Handlers& handlers, const grpc::CallbackServerContext& context);

}  // namespace sluice::rpc::server
