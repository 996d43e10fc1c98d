// The calls of the protocol: what each does with the Service.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/no_memory.h"
#include "completions/text_starter.h"
#include "dispatch/flight_table.h"
#include "proto/sluice/v1/runtime.grpc.pb.h"
#include "rpc/server/calls/infer_messages.h"
#include "rpc/server/calls/message_holder.h"
#include "rpc/server/listen/peer_table.h"
#include "rpc/wire/coded_message.h"
#include "rpc/wire/error.h"
#include "service/call_threads.h"
#include "service/clients/tokens.h"
#include "service/service.h"
#include "telemetry/telemetry.h"

namespace sluice::rpc::server {

/// Empty if the call has none.
std::string_view metadata_of(const grpc::CallbackServerContext& context, const char* key);

class Handlers final : public v1::Runtime::CallbackService {
 public:
  /// All outlive the handlers. `texts`: null: none are made.
  Handlers(service::Service& service, const PeerTable& peers, service::CallThreads& threads,
           std::vector<service::AccessToken> tokens, std::int64_t max_answer_bytes,
           completions::TextStarter* texts);

  /// From now on. None: any client may call.
  void set_tokens(std::vector<service::AccessToken> tokens) { tokens_.set(std::move(tokens)); }
  service::Service& service() { return service_; }
  service::CallThreads& threads() { return threads_; }
  /// Null: no texts are made.
  completions::TextStarter* texts() const { return texts_; }
  /// Limit of one answer; protobuf aborts the process above 2 GiB.
  std::int64_t max_answer_bytes() const { return max_answer_bytes_; }
  /// Flights of the unary calls, which the table outlives.
  dispatch::FlightTable& flights() { return flights_; }
  /// The client on whose behalf a call is made that needs `role`.
  /// Fails: as Service::caller_of; kUnauthenticated over TCP without one of the tokens.
  Result<service::Caller> caller_of(const grpc::CallbackServerContext& context,
                                    terms::Role role) const;
  /// Caller and model of a unary request. Fails: as caller_of and Service::find_model.
  Result<service::Admission> admit(const grpc::CallbackServerContext& context,
                                   terms::ModelHandle model) const;
  /// Observes a request that a call brings; null: nobody wants to know of it. `own`: its own
  /// traceparent and tracestate, if its message has them, before those of the call's metadata. A
  /// unary call gets its `x-request-id` back.
  std::shared_ptr<telemetry::Observation> observe(grpc::CallbackServerContext& context,
                                                  telemetry::Origin own) const;
  /// Bytes for an upload, until they are given back. Fails: kOutOfResources.
  Status reserve_upload(std::int64_t bytes);
  void release_upload(std::int64_t bytes);

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  /// Limit of a request that needs no token, which anybody may send compressed.
  static constexpr std::int64_t kMaxProbeBytes = 4096;
  /// Answers a call for which no token is needed, because `work()` says only whether the daemon is
  /// ready.
  template <typename Work>
  static Unary* for_anybody(Context* context, const google::protobuf::Message* request,
                            const Work& work);
  /// Answers a call with `work(caller)` on gRPC's thread, which must not block. Whoever sent the
  /// request is known before anything of it is inflated, to `limit_bytes`; `work` alone reads it.
  template <typename Work>
  Unary* now(Context* context, const google::protobuf::Message* request, terms::Role role,
             const Work& work, std::int64_t limit_bytes = wire::kMaxNamesBytes) const;
  /// The same on a thread of its own; request and response live until the call ends.
  template <typename Work>
  Unary* later(Context* context, const google::protobuf::Message* request, terms::Role role,
               Work work) const;

  Unary* GetServer(Context* context, const v1::GetServerRequest* request,
                   v1::GetServerResponse* response) override;
  Unary* GetHealth(Context* context, const v1::GetHealthRequest* request,
                   v1::GetHealthResponse* response) override;
  grpc::ServerWriteReactor<v1::OpenSessionResponse>* OpenSession(
      Context* context, const v1::OpenSessionRequest* request) override;
  Unary* ListSessions(Context* context, const v1::ListSessionsRequest* request,
                      v1::ListSessionsResponse* response) override;
  Unary* CloseSession(Context* context, const v1::CloseSessionRequest* request,
                      v1::CloseSessionResponse* response) override;
  Unary* CreateGroup(Context* context, const v1::CreateGroupRequest* request,
                     v1::CreateGroupResponse* response) override;
  Unary* DestroyGroup(Context* context, const v1::DestroyGroupRequest* request,
                      v1::DestroyGroupResponse* response) override;
  Unary* ListGroups(Context* context, const v1::ListGroupsRequest* request,
                    v1::ListGroupsResponse* response) override;
  grpc::ServerReadReactor<v1::LoadModelRequest>* LoadModel(
      Context* context, v1::LoadModelResponse* response) override;
  Unary* DeployGraph(Context* context, const v1::DeployGraphRequest* request,
                     v1::DeployGraphResponse* response) override;
  Unary* UnloadModel(Context* context, const v1::UnloadModelRequest* request,
                     v1::UnloadModelResponse* response) override;
  Unary* StartModel(Context* context, const v1::StartModelRequest* request,
                    v1::StartModelResponse* response) override;
  Unary* StopModel(Context* context, const v1::StopModelRequest* request,
                   v1::StopModelResponse* response) override;
  Unary* ResetModel(Context* context, const v1::ResetModelRequest* request,
                    v1::ResetModelResponse* response) override;
  Unary* ResetDevice(Context* context, const v1::ResetDeviceRequest* request,
                     v1::ResetDeviceResponse* response) override;
  Unary* ListModels(Context* context, const v1::ListModelsRequest* request,
                    v1::ListModelsResponse* response) override;
  Unary* GetStatistics(Context* context, const v1::GetStatisticsRequest* request,
                       v1::GetStatisticsResponse* response) override;
  Unary* StartProfile(Context* context, const v1::StartProfileRequest* request,
                      v1::StartProfileResponse* response) override;
  grpc::ServerWriteReactor<v1::StopProfileResponse>* StopProfile(
      Context* context, const v1::StopProfileRequest* request) override;
  Unary* RegisterRegion(Context* context, const v1::RegisterRegionRequest* request,
                        v1::RegisterRegionResponse* response) override;
  Unary* UnregisterRegion(Context* context, const v1::UnregisterRegionRequest* request,
                          v1::UnregisterRegionResponse* response) override;
  Unary* ListRegions(Context* context, const v1::ListRegionsRequest* request,
                     v1::ListRegionsResponse* response) override;
  Unary* PutTensor(Context* context, const v1::PutTensorRequest* request,
                   v1::PutTensorResponse* response) override;
  Unary* GetTensor(Context* context, const v1::GetTensorRequest* request,
                   v1::GetTensorResponse* response) override;
  Unary* RemoveTensor(Context* context, const v1::RemoveTensorRequest* request,
                      v1::RemoveTensorResponse* response) override;
  Unary* OfferTensor(Context* context, const v1::OfferTensorRequest* request,
                     v1::OfferTensorResponse* response) override;
  Unary* BringTensor(Context* context, const v1::BringTensorRequest* request,
                     v1::BringTensorResponse* response) override;
  Unary* PullTensor(Context* context, const v1::PullTensorRequest* request,
                    v1::PullTensorResponse* response) override;
  Unary* Infer(Context* context, const v1::InferRequest* request,
               v1::InferResponse* response) override;
  Unary* TakeReply(Context* context, const v1::TakeReplyRequest* request,
                   v1::InferResponse* response) override;
  Unary* CancelRequest(Context* context, const v1::CancelRequestRequest* request,
                       v1::CancelRequestResponse* response) override;
  grpc::ServerBidiReactor<v1::InferStreamRequest, v1::InferStreamResponse>* InferStream(
      Context* context) override;

 private:
  Result<terms::Peer> peer_of(const grpc::CallbackServerContext& context) const;

  service::Service& service_;
  const PeerTable& peers_;
  service::CallThreads& threads_;
  service::TokenTable tokens_;
  const std::int64_t max_answer_bytes_;
  completions::TextStarter* const texts_;
  MessageAllocator<InferMessages> infer_allocator_;
  dispatch::FlightTable flights_;
  std::mutex upload_mutex_;
  std::int64_t uploading_bytes_ = 0;
};

template <typename Work>
Handlers::Unary* Handlers::for_anybody(Context* context, const google::protobuf::Message* request,
                                       const Work& work) {
  Unary* reactor = context->DefaultReactor();
  const Status inflated = wire::inflate(*request, kMaxProbeBytes);
  if (inflated.is_ok()) work();
  reactor->Finish(wire::to_grpc(inflated));
  return reactor;
}

template <typename Work>
Handlers::Unary* Handlers::now(Context* context, const google::protobuf::Message* request,
                               terms::Role role, const Work& work, std::int64_t limit_bytes) const {
  Unary* reactor = context->DefaultReactor();
  const auto answer = [&]() -> Status {
    const auto caller = SLUICE_TRY(caller_of(*context, role));
    SLUICE_TRY(wire::inflate(*request, limit_bytes));
    return work(caller);
  };
  reactor->Finish(wire::to_grpc(catch_no_memory(answer)));
  return reactor;
}

template <typename Work>
Handlers::Unary* Handlers::later(Context* context, const google::protobuf::Message* request,
                                 terms::Role role, Work work) const {
  Unary* reactor = context->DefaultReactor();
  auto caller = caller_of(*context, role);
  Status status = caller.is_ok() ? ok_status() : caller.status();
  if (status.is_ok()) {
    status = threads_.run([reactor, request, work = std::move(work), caller = std::move(*caller)] {
      const auto answer = [&]() -> Status {
        SLUICE_TRY(wire::inflate(*request));
        return work(caller);
      };
      reactor->Finish(wire::to_grpc(catch_no_memory(answer)));
    });
  }
  if (!status.is_ok()) reactor->Finish(wire::to_grpc(status));
  return reactor;
}

/// Reactors delete themselves when their call is done.
grpc::ServerWriteReactor<v1::OpenSessionResponse>* open_session(
    Handlers& handlers, const grpc::CallbackServerContext& context,
    const v1::OpenSessionRequest& request);
grpc::ServerReadReactor<v1::LoadModelRequest>* load_model(
    Handlers& handlers, const grpc::CallbackServerContext& context,
    v1::LoadModelResponse& response);
grpc::ServerWriteReactor<v1::StopProfileResponse>* stop_profile(
    Handlers& handlers, const grpc::CallbackServerContext& context,
    const v1::StopProfileRequest& request);
grpc::ServerUnaryReactor* infer(Handlers& handlers, grpc::CallbackServerContext& context);
grpc::ServerUnaryReactor* take_reply(const Handlers& handlers, grpc::CallbackServerContext& context,
                                     const v1::TakeReplyRequest& request,
                                     v1::InferResponse& response);
grpc::ServerBidiReactor<v1::InferStreamRequest, v1::InferStreamResponse>* infer_stream(
    Handlers& handlers, const grpc::CallbackServerContext& context);

}  // namespace sluice::rpc::server
