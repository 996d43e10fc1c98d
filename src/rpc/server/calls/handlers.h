// The calls of the protocol: what each does with the Service.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/no_memory.h"
#include "completions/text_starter.h"
#include "dispatch/flight_table.h"
#include "proto/sluice/v1/runtime.pb.h"
#include "rpc/server/calls/infer_messages.h"
#include "rpc/server/reactor/methods.h"
#include "rpc/server/reactor/reactor.h"
#include "rpc/wire/coded_message.h"
#include "rpc/wire/error.h"
#include "service/call_threads.h"
#include "service/clients/tokens.h"
#include "service/service.h"
#include "telemetry/telemetry.h"

namespace sluice::rpc::server {

class Handlers final {
 public:
  /// All outlive the handlers. `texts`: null: none are made.
  Handlers(service::Service& service, service::CallThreads& threads,
           std::vector<service::AccessToken> tokens, std::int64_t max_answer_bytes,
           completions::TextStarter* texts);
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

  /// Adds the calls of sluice.v1.
  void add_to(Methods& methods);

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
  Result<service::Caller> caller_of(const CallContext& context, terms::Role role) const;
  /// Caller and model of a unary request. Fails: as caller_of and Service::find_model.
  Result<service::Admission> admit(const CallContext& context, terms::ModelHandle model) const;
  /// Observes a request that a call brings; null: nobody wants to know of it. `own`: its own
  /// traceparent and tracestate, if its message has them, before those of the call's metadata. A
  /// unary call gets its `x-request-id` back.
  std::shared_ptr<telemetry::Observation> observe(CallContext& context,
                                                  telemetry::Origin own) const;
  /// Bytes for an upload, until they are given back. Fails: kOutOfResources.
  Status reserve_upload(std::int64_t bytes);
  void release_upload(std::int64_t bytes);

  using Context = CallContext;

  /// Limit of a request that needs no token, which anybody may send compressed.
  static constexpr std::int64_t kMaxProbeBytes = 4096;
  /// Answers a call for which no token is needed, because `work()` says only whether the daemon is
  /// ready.
  template <typename Work>
  static void for_anybody(Context* context, const google::protobuf::Message* request,
                          const Work& work);
  /// Answers a call with `work(caller)` on the thread of its connection, which must not block.
  /// Whoever sent the request is known before anything of it is inflated, to `limit_bytes`; `work`
  /// alone reads it.
  template <typename Work>
  void now(Context* context, const google::protobuf::Message* request, terms::Role role,
           const Work& work, std::int64_t limit_bytes = wire::kMaxNamesBytes) const;
  /// The same on a thread of its own; request and response live until the call ends.
  template <typename Work>
  void later(Context* context, const google::protobuf::Message* request, terms::Role role,
             Work work) const;

  // NOLINTBEGIN(readability-identifier-naming): the calls have the names of the protocol.
  void GetServer(Context* context, const v1::GetServerRequest* request,
                 v1::GetServerResponse* response);
  void GetHealth(Context* context, const v1::GetHealthRequest* request,
                 v1::GetHealthResponse* response);
  void OpenSession(Context* context, const v1::OpenSessionRequest* request);
  void ListSessions(Context* context, const v1::ListSessionsRequest* request,
                    v1::ListSessionsResponse* response);
  void CloseSession(Context* context, const v1::CloseSessionRequest* request,
                    v1::CloseSessionResponse* response);
  void CreateGroup(Context* context, const v1::CreateGroupRequest* request,
                   v1::CreateGroupResponse* response);
  void DestroyGroup(Context* context, const v1::DestroyGroupRequest* request,
                    v1::DestroyGroupResponse* response);
  void ListGroups(Context* context, const v1::ListGroupsRequest* request,
                  v1::ListGroupsResponse* response);
  void LoadModel(Context* context, v1::LoadModelResponse* response);
  void DeployGraph(Context* context, const v1::DeployGraphRequest* request,
                   v1::DeployGraphResponse* response);
  void UnloadModel(Context* context, const v1::UnloadModelRequest* request,
                   v1::UnloadModelResponse* response);
  void StartModel(Context* context, const v1::StartModelRequest* request,
                  v1::StartModelResponse* response);
  void StopModel(Context* context, const v1::StopModelRequest* request,
                 v1::StopModelResponse* response);
  void ResetModel(Context* context, const v1::ResetModelRequest* request,
                  v1::ResetModelResponse* response);
  void ResetDevice(Context* context, const v1::ResetDeviceRequest* request,
                   v1::ResetDeviceResponse* response);
  void ListModels(Context* context, const v1::ListModelsRequest* request,
                  v1::ListModelsResponse* response);
  void GetStatistics(Context* context, const v1::GetStatisticsRequest* request,
                     v1::GetStatisticsResponse* response);
  void StartProfile(Context* context, const v1::StartProfileRequest* request,
                    v1::StartProfileResponse* response);
  void StopProfile(Context* context, const v1::StopProfileRequest* request);
  void RegisterRegion(Context* context, const v1::RegisterRegionRequest* request,
                      v1::RegisterRegionResponse* response);
  void UnregisterRegion(Context* context, const v1::UnregisterRegionRequest* request,
                        v1::UnregisterRegionResponse* response);
  void ListRegions(Context* context, const v1::ListRegionsRequest* request,
                   v1::ListRegionsResponse* response);
  void PutTensor(Context* context, const v1::PutTensorRequest* request,
                 v1::PutTensorResponse* response);
  void GetTensor(Context* context, const v1::GetTensorRequest* request,
                 v1::GetTensorResponse* response);
  void RemoveTensor(Context* context, const v1::RemoveTensorRequest* request,
                    v1::RemoveTensorResponse* response);
  void OfferTensor(Context* context, const v1::OfferTensorRequest* request,
                   v1::OfferTensorResponse* response);
  void BringTensor(Context* context, const v1::BringTensorRequest* request,
                   v1::BringTensorResponse* response);
  void PullTensor(Context* context, const v1::PullTensorRequest* request,
                  v1::PullTensorResponse* response);
  void Infer(Context* context, const std::shared_ptr<InferMessages>& messages);
  void TakeReply(Context* context, const v1::TakeReplyRequest* request,
                 v1::InferResponse* response);
  void CancelRequest(Context* context, const v1::CancelRequestRequest* request,
                     v1::CancelRequestResponse* response);
  void InferStream(Context* context);
  // NOLINTEND(readability-identifier-naming)

 private:
  Result<terms::Peer> peer_of(const CallContext& context) const;

  service::Service& service_;
  service::CallThreads& threads_;
  service::TokenTable tokens_;
  const std::int64_t max_answer_bytes_;
  completions::TextStarter* const texts_;
  dispatch::FlightTable flights_;
  std::mutex upload_mutex_;
  std::int64_t uploading_bytes_ = 0;
};

template <typename Work>
void Handlers::for_anybody(Context* context, const google::protobuf::Message* request,
                           const Work& work) {
  const Status inflated = wire::inflate(*request, kMaxProbeBytes);
  if (inflated.is_ok()) work();
  context->finish(wire::to_grpc(inflated));
}

template <typename Work>
void Handlers::now(Context* context, const google::protobuf::Message* request, terms::Role role,
                   const Work& work, std::int64_t limit_bytes) const {
  const auto answer = [&]() -> Status {
    const auto caller = SLUICE_TRY(caller_of(*context, role));
    SLUICE_TRY(wire::inflate(*request, limit_bytes));
    return work(caller);
  };
  context->finish(wire::to_grpc(catch_no_memory(answer)));
}

template <typename Work>
void Handlers::later(Context* context, const google::protobuf::Message* request, terms::Role role,
                     Work work) const {
  auto caller = caller_of(*context, role);
  Status status = caller.is_ok() ? ok_status() : caller.status();
  if (status.is_ok()) {
    status = threads_.run([context, request, work = std::move(work), caller = std::move(*caller)] {
      const auto answer = [&]() -> Status {
        SLUICE_TRY(wire::inflate(*request));
        return work(caller);
      };
      context->finish(wire::to_grpc(catch_no_memory(answer)));
    });
  }
  if (!status.is_ok()) context->finish(wire::to_grpc(status));
}

/// Reactors delete themselves when their call is done.
void open_session(Handlers& handlers, CallContext& context, const v1::OpenSessionRequest& request);
void load_model(Handlers& handlers, CallContext& context, v1::LoadModelResponse& response);
void stop_profile(Handlers& handlers, CallContext& context, const v1::StopProfileRequest& request);
void infer(Handlers& handlers, CallContext& context,
           const std::shared_ptr<InferMessages>& messages);
void take_reply(const Handlers& handlers, CallContext& context, const v1::TakeReplyRequest& request,
                v1::InferResponse& response);
void infer_stream(Handlers& handlers, CallContext& context);

}  // namespace sluice::rpc::server
