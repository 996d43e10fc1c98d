#include "rpc/server/calls/handlers.h"

#include "rpc/wire/convert.h"
#include "rpc/wire/error.h"
#include "rpc/wire/function_messages.h"
#include "rpc/wire/profile_messages.h"
#include "service/clients/peer.h"

namespace sluice::rpc::server {

using terms::ModelHandle;
using terms::Role;

namespace {

/// The session rides in metadata, not in messages: it applies to all calls alike.
constexpr const char* kSessionKey = "sluice-session";
constexpr const char* kRequestIdKey = "x-request-id";

}  // namespace

Handlers::Handlers(service::Service& service, service::CallThreads& threads,
                   std::vector<service::AccessToken> tokens, std::int64_t max_answer_bytes,
                   completions::TextStarter* texts)
    : service_(service), threads_(threads), max_answer_bytes_(max_answer_bytes), texts_(texts) {
  tokens_.set(std::move(tokens));
}

void Handlers::add_to(Methods& methods) {
  ServiceMethods<Handlers>(methods, "sluice.v1.Runtime", *this)
      .add("GetServer", &Handlers::GetServer)
      .add("GetHealth", &Handlers::GetHealth)
      .add("OpenSession", &Handlers::OpenSession)
      .add("ListSessions", &Handlers::ListSessions)
      .add("CloseSession", &Handlers::CloseSession)
      .add("CreateGroup", &Handlers::CreateGroup)
      .add("DestroyGroup", &Handlers::DestroyGroup)
      .add("ListGroups", &Handlers::ListGroups)
      .add("LoadModel", &Handlers::LoadModel)
      .add("DeployGraph", &Handlers::DeployGraph)
      .add("UnloadModel", &Handlers::UnloadModel)
      .add("StartModel", &Handlers::StartModel)
      .add("StopModel", &Handlers::StopModel)
      .add("ResetModel", &Handlers::ResetModel)
      .add("ResetDevice", &Handlers::ResetDevice)
      .add("ListModels", &Handlers::ListModels)
      .add("GetStatistics", &Handlers::GetStatistics)
      .add("StartProfile", &Handlers::StartProfile)
      .add("StopProfile", &Handlers::StopProfile)
      .add("RegisterRegion", &Handlers::RegisterRegion)
      .add("UnregisterRegion", &Handlers::UnregisterRegion)
      .add("ListRegions", &Handlers::ListRegions)
      .add("PutTensor", &Handlers::PutTensor)
      .add("GetTensor", &Handlers::GetTensor)
      .add("RemoveTensor", &Handlers::RemoveTensor)
      .add("OfferTensor", &Handlers::OfferTensor)
      .add("BringTensor", &Handlers::BringTensor)
      .add("PullTensor", &Handlers::PullTensor)
      .add("Infer", &Handlers::Infer)
      .add("TakeReply", &Handlers::TakeReply)
      .add("CancelRequest", &Handlers::CancelRequest)
      .add("InferStream", &Handlers::InferStream);
}

/// Fails: as TokenTable::identify.
Result<terms::Peer> Handlers::peer_of(const CallContext& context) const {
  return tokens_.identify(context.peer(), context.metadata("authorization"));
}

Result<service::Caller> Handlers::caller_of(const CallContext& context, terms::Role role) const {
  const std::string_view session = context.metadata(kSessionKey);
  return service_.caller_of(role, session, SLUICE_TRY(peer_of(context)));
}

Result<service::Admission> Handlers::admit(const CallContext& context,
                                           terms::ModelHandle model) const {
  const std::string_view session = context.metadata(kSessionKey);
  return service_.admit(session, SLUICE_TRY(peer_of(context)), model);
}

std::shared_ptr<telemetry::Observation> Handlers::observe(CallContext& context,
                                                          telemetry::Origin own) const {
  if (own.traceparent.empty()) {
    own.traceparent = context.metadata("traceparent");
    own.tracestate = context.metadata("tracestate");
  }
  own.request_id = telemetry::valid_request_id(context.metadata(kRequestIdKey));
  auto observation = service_.telemetry().begin(own);
  if (observation != nullptr) {
    // At once, so that refused calls have a user, too.
    const auto peer = peer_of(context);
    if (peer.is_ok()) observation->set_user(service::account_of(*peer));
  }
  const std::string id(observation != nullptr ? observation->request_id() : own.request_id);
  if (!id.empty()) context.add_initial_metadata(kRequestIdKey, id);
  return observation;
}

Status Handlers::reserve_upload(std::int64_t bytes) {
  // The mutex is a leaf: no other mutex is locked while a thread holds it.
  const std::lock_guard lock(upload_mutex_);
  const std::int64_t limit = service_.options().max_upload_bytes;
  // uploading_bytes_ may exceed a limit that a reload has lowered; the difference is negative then,
  // and nothing fits.
  if (bytes > limit - uploading_bytes_) {
    return terms::runtime_error(
        RuntimeCode::kOutOfResources,
        "an upload of {} bytes: at most {} are taken at a time, and {} are on "
        "their way",
        bytes, limit, uploading_bytes_);
  }
  uploading_bytes_ += bytes;
  return ok_status();
}

void Handlers::release_upload(std::int64_t bytes) {
  const std::lock_guard lock(upload_mutex_);
  uploading_bytes_ -= bytes;
}

/// Calls below use now() if they read tables in memory. Those that load, wait or write use later():
/// a thread of connections that blocks delays the answers of all its clients.
void Handlers::GetServer(Context* context, const v1::GetServerRequest* request,
                         v1::GetServerResponse* response) {
  return now(context, request, Role::kAny, [&](const service::Caller& caller) {
    wire::to_proto(service_.server(caller), *response);
    return ok_status();
  });
}

void Handlers::GetHealth(Context* context, const v1::GetHealthRequest* request,
                         v1::GetHealthResponse* response) {
  return now(context, request, Role::kAny, [&](const service::Caller& /*caller*/) {
    wire::to_proto(service_.health(), *response);
    return ok_status();
  });
}

void Handlers::OpenSession(Context* context, const v1::OpenSessionRequest* request) {
  return open_session(*this, *context, *request);
}

void Handlers::ListSessions(Context* context, const v1::ListSessionsRequest* request,
                            v1::ListSessionsResponse* response) {
  return now(context, request, Role::kMonitor, [&](const service::Caller& /*caller*/) {
    for (const auto& session : service_.list_sessions())
      wire::to_proto(session, *response->add_sessions());
    return ok_status();
  });
}

void Handlers::CloseSession(Context* context, const v1::CloseSessionRequest* request,
                            v1::CloseSessionResponse* /*response*/) {
  return later(context, request, Role::kControl, [this, request](const service::Caller& caller) {
    return service_.kill_session(caller, terms::SessionId(request->session()));
  });
}

void Handlers::CreateGroup(Context* context, const v1::CreateGroupRequest* request,
                           v1::CreateGroupResponse* response) {
  return later(context, request, Role::kControl,
               [this, request, response](const service::Caller& caller) -> Status {
                 const auto wanted = SLUICE_TRY(wire::from_proto(*request));
                 // Absent means the daemon's default, which the request cannot know.
                 const auto isolation =
                     SLUICE_TRY(wire::isolation_from_proto(request->isolation()));
                 wire::to_proto(SLUICE_TRY(service_.create_group(caller, wanted, isolation)),
                                *response->mutable_group());
                 return ok_status();
               });
}

void Handlers::DestroyGroup(Context* context, const v1::DestroyGroupRequest* request,
                            v1::DestroyGroupResponse* /*response*/) {
  return later(
      context, request, Role::kControl, [this, request](const service::Caller& caller) -> Status {
        return service_.destroy_group(caller, SLUICE_TRY(wire::group_from_proto(request->group())));
      });
}

void Handlers::ListGroups(Context* context, const v1::ListGroupsRequest* request,
                          v1::ListGroupsResponse* response) {
  return now(context, request, Role::kMonitor, [&](const service::Caller& /*caller*/) {
    for (const auto& group : service_.list_groups()) wire::to_proto(group, *response->add_groups());
    response->set_num_free_cores(service_.server().num_free_cores);
    return ok_status();
  });
}

void Handlers::LoadModel(Context* context, v1::LoadModelResponse* response) {
  return load_model(*this, *context, *response);
}

void Handlers::DeployGraph(Context* context, const v1::DeployGraphRequest* request,
                           v1::DeployGraphResponse* response) {
  return later(context, request, Role::kControl,
               [this, request, response](const service::Caller& caller) -> Status {
                 wire::to_proto(
                     SLUICE_TRY(service_.deploy_graph(caller, wire::from_proto(*request))),
                     *response->mutable_model());
                 return ok_status();
               });
}

void Handlers::UnloadModel(Context* context, const v1::UnloadModelRequest* request,
                           v1::UnloadModelResponse* /*response*/) {
  // The request lives until the call is finished.
  return later(context, request, Role::kControl, [this, request](const service::Caller& caller) {
    return service_.unload(caller, ModelHandle(request->model()), request->drain_ns());
  });
}

void Handlers::StartModel(Context* context, const v1::StartModelRequest* request,
                          v1::StartModelResponse* /*response*/) {
  return later(context, request, Role::kControl, [this, request](const service::Caller& caller) {
    return service_.start(caller, ModelHandle(request->model()));
  });
}

void Handlers::StopModel(Context* context, const v1::StopModelRequest* request,
                         v1::StopModelResponse* /*response*/) {
  return later(context, request, Role::kControl, [this, request](const service::Caller& caller) {
    return service_.stop(caller, ModelHandle(request->model()), request->drain_ns());
  });
}

void Handlers::ResetModel(Context* context, const v1::ResetModelRequest* request,
                          v1::ResetModelResponse* /*response*/) {
  return later(context, request, Role::kControl, [this, request](const service::Caller& caller) {
    return service_.reset(caller, ModelHandle(request->model()));
  });
}

void Handlers::ResetDevice(Context* context, const v1::ResetDeviceRequest* request,
                           v1::ResetDeviceResponse* response) {
  return later(context, request, Role::kControl,
               [this, request, response](const service::Caller& caller) -> Status {
                 const terms::DeviceId device(request->device());
                 for (const auto& model : SLUICE_TRY(service_.reset_device(caller, device))) {
                   wire::to_proto(model, *response->add_models());
                 }
                 return ok_status();
               });
}

void Handlers::ListModels(Context* context, const v1::ListModelsRequest* request,
                          v1::ListModelsResponse* response) {
  return now(context, request, Role::kAny, [&](const service::Caller& /*caller*/) -> Status {
    for (const auto& model : SLUICE_TRY(service_.list_models(request->model()))) {
      wire::to_proto(model, *response->add_models());
    }
    return ok_status();
  });
}

void Handlers::GetStatistics(Context* context, const v1::GetStatisticsRequest* request,
                             v1::GetStatisticsResponse* response) {
  return now(context, request, Role::kMonitor, [&](const service::Caller& /*caller*/) -> Status {
    if (request->model() == 0) {
      wire::to_proto(service_.all_statistics(), *response);
      return ok_status();
    }
    for (const auto& model : SLUICE_TRY(service_.statistics(request->model()))) {
      wire::to_proto(model, *response->add_models());
    }
    return ok_status();
  });
}

void Handlers::StartProfile(Context* context, const v1::StartProfileRequest* request,
                            v1::StartProfileResponse* response) {
  return now(context, request, Role::kMonitor, [&](const service::Caller& caller) -> Status {
    const auto settings = SLUICE_TRY(wire::from_proto(*request));
    response->set_profile(SLUICE_TRY(service_.start_profile(caller, settings)));
    return ok_status();
  });
}

void Handlers::StopProfile(Context* context, const v1::StopProfileRequest* request) {
  return stop_profile(*this, *context, *request);
}

void Handlers::RegisterRegion(Context* context, const v1::RegisterRegionRequest* request,
                              v1::RegisterRegionResponse* response) {
  return now(context, request, Role::kInference, [&](const service::Caller& caller) -> Status {
    wire::to_proto(SLUICE_TRY(service_.register_name(caller, request->name())),
                   *response->mutable_region());
    return ok_status();
  });
}

void Handlers::UnregisterRegion(Context* context, const v1::UnregisterRegionRequest* request,
                                v1::UnregisterRegionResponse* /*response*/) {
  return later(context, request, Role::kInference, [this, request](const service::Caller& caller) {
    return service_.unregister_region(caller, request->region());
  });
}

void Handlers::ListRegions(Context* context, const v1::ListRegionsRequest* request,
                           v1::ListRegionsResponse* response) {
  return now(context, request, Role::kInference, [&](const service::Caller& caller) {
    for (const auto& region : service_.list_regions(caller)) {
      wire::to_proto(region, *response->add_regions());
    }
    return ok_status();
  });
}

void Handlers::Infer(Context* context, const std::shared_ptr<InferMessages>& messages) {
  infer(*this, *context, messages);
}

void Handlers::TakeReply(Context* context, const v1::TakeReplyRequest* request,
                         v1::InferResponse* response) {
  return take_reply(*this, *context, *request, *response);
}

void Handlers::CancelRequest(Context* context, const v1::CancelRequestRequest* request,
                             v1::CancelRequestResponse* /*response*/) {
  return now(context, request, Role::kInference, [&](const service::Caller& caller) {
    return caller.session->posted().cancel(request->request());
  });
}

void Handlers::InferStream(Context* context) { return infer_stream(*this, *context); }

}  // namespace sluice::rpc::server
