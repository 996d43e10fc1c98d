#include "rpc/server/calls/handlers.h"

#include "rpc/wire/convert.h"
#include "rpc/wire/error.h"
#include "rpc/wire/function_messages.h"
#include "rpc/wire/profile_messages.h"
#include "service/clients/peer.h"

namespace sluice::rpc::server {

using service::Caller;
using service::Service;
using terms::ModelHandle;
using terms::Role;

namespace {

/// The session rides in metadata, not in messages: it applies to all calls alike.
constexpr const char* kSessionKey = "sluice-session";
constexpr const char* kRequestIdKey = "x-request-id";

Status get_server(Service& service, const Caller& caller, const v1::GetServerRequest& /*request*/,
                  v1::GetServerResponse& response) {
  wire::to_proto(service.server(caller), response);
  return ok_status();
}

Status get_health(Service& service, const Caller& /*caller*/,
                  const v1::GetHealthRequest& /*request*/, v1::GetHealthResponse& response) {
  wire::to_proto(service.health(), response);
  return ok_status();
}

Status list_sessions(Service& service, const Caller& /*caller*/,
                     const v1::ListSessionsRequest& /*request*/,
                     v1::ListSessionsResponse& response) {
  for (const auto& session : service.list_sessions()) {
    wire::to_proto(session, *response.add_sessions());
  }
  return ok_status();
}

Status close_session(Service& service, const Caller& caller, const v1::CloseSessionRequest& request,
                     v1::CloseSessionResponse& /*response*/) {
  return service.kill_session(caller, terms::SessionId(request.session()));
}

Status create_group(Service& service, const Caller& caller, const v1::CreateGroupRequest& request,
                    v1::CreateGroupResponse& response) {
  const auto wanted = SLUICE_TRY(wire::from_proto(request));
  // Absent means the daemon's default, which the request cannot know.
  const auto isolation = SLUICE_TRY(wire::isolation_from_proto(request.isolation()));
  wire::to_proto(SLUICE_TRY(service.create_group(caller, wanted, isolation)),
                 *response.mutable_group());
  return ok_status();
}

Status destroy_group(Service& service, const Caller& caller, const v1::DestroyGroupRequest& request,
                     v1::DestroyGroupResponse& /*response*/) {
  return service.destroy_group(caller, SLUICE_TRY(wire::group_from_proto(request.group())));
}

Status list_groups(Service& service, const Caller& /*caller*/,
                   const v1::ListGroupsRequest& /*request*/, v1::ListGroupsResponse& response) {
  for (const auto& group : service.list_groups()) wire::to_proto(group, *response.add_groups());
  response.set_num_free_cores(service.server().num_free_cores);
  return ok_status();
}

Status deploy_graph(Service& service, const Caller& caller, const v1::DeployGraphRequest& request,
                    v1::DeployGraphResponse& response) {
  wire::to_proto(SLUICE_TRY(service.deploy_graph(caller, wire::from_proto(request))),
                 *response.mutable_model());
  return ok_status();
}

Status unload_model(Service& service, const Caller& caller, const v1::UnloadModelRequest& request,
                    v1::UnloadModelResponse& /*response*/) {
  return service.unload(caller, ModelHandle(request.model()), request.drain_ns());
}

Status start_model(Service& service, const Caller& caller, const v1::StartModelRequest& request,
                   v1::StartModelResponse& /*response*/) {
  return service.start(caller, ModelHandle(request.model()));
}

Status stop_model(Service& service, const Caller& caller, const v1::StopModelRequest& request,
                  v1::StopModelResponse& /*response*/) {
  return service.stop(caller, ModelHandle(request.model()), request.drain_ns());
}

Status reset_model(Service& service, const Caller& caller, const v1::ResetModelRequest& request,
                   v1::ResetModelResponse& /*response*/) {
  return service.reset(caller, ModelHandle(request.model()));
}

Status reset_device(Service& service, const Caller& caller, const v1::ResetDeviceRequest& request,
                    v1::ResetDeviceResponse& response) {
  const terms::DeviceId device(request.device());
  for (const auto& model : SLUICE_TRY(service.reset_device(caller, device))) {
    wire::to_proto(model, *response.add_models());
  }
  return ok_status();
}

Status list_models(Service& service, const Caller& /*caller*/, const v1::ListModelsRequest& request,
                   v1::ListModelsResponse& response) {
  for (const auto& model : SLUICE_TRY(service.list_models(request.model()))) {
    wire::to_proto(model, *response.add_models());
  }
  return ok_status();
}

Status get_statistics(Service& service, const Caller& /*caller*/,
                      const v1::GetStatisticsRequest& request,
                      v1::GetStatisticsResponse& response) {
  if (request.model() == 0) {
    wire::to_proto(service.all_statistics(), response);
    return ok_status();
  }
  for (const auto& model : SLUICE_TRY(service.statistics(request.model()))) {
    wire::to_proto(model, *response.add_models());
  }
  return ok_status();
}

Status start_profile(Service& service, const Caller& caller, const v1::StartProfileRequest& request,
                     v1::StartProfileResponse& response) {
  const auto settings = SLUICE_TRY(wire::from_proto(request));
  response.set_profile(SLUICE_TRY(service.start_profile(caller, settings)));
  return ok_status();
}

Status register_region(Service& service, const Caller& caller,
                       const v1::RegisterRegionRequest& request,
                       v1::RegisterRegionResponse& response) {
  wire::to_proto(SLUICE_TRY(service.register_name(caller, request.name())),
                 *response.mutable_region());
  return ok_status();
}

Status unregister_region(Service& service, const Caller& caller,
                         const v1::UnregisterRegionRequest& request,
                         v1::UnregisterRegionResponse& /*response*/) {
  return service.unregister_region(caller, request.region());
}

Status list_regions(Service& service, const Caller& caller,
                    const v1::ListRegionsRequest& /*request*/, v1::ListRegionsResponse& response) {
  for (const auto& region : service.list_regions(caller)) {
    wire::to_proto(region, *response.add_regions());
  }
  return ok_status();
}

Status cancel_request(Service& /*service*/, const Caller& caller,
                      const v1::CancelRequestRequest& request,
                      v1::CancelRequestResponse& /*response*/) {
  return caller.session->posted().cancel(request.request());
}

}  // namespace

Handlers::Handlers(service::Service& service, service::CallThreads& threads,
                   std::vector<service::AccessToken> tokens, std::int64_t max_answer_bytes,
                   completions::TextStarter* texts)
    : service_(service), threads_(threads), max_answer_bytes_(max_answer_bytes), texts_(texts) {
  tokens_.set(std::move(tokens));
}

void Handlers::add_to(Methods& methods) {
  CallerMethods<Service>(methods, kRuntimeService, *this, service_)
      .now("GetServer", Role::kAny, get_server)
      .now("GetHealth", Role::kAny, get_health)
      .now("ListSessions", Role::kMonitor, list_sessions)
      .later("CloseSession", Role::kControl, close_session)
      .later("CreateGroup", Role::kControl, create_group)
      .later("DestroyGroup", Role::kControl, destroy_group)
      .now("ListGroups", Role::kMonitor, list_groups)
      .later("DeployGraph", Role::kControl, deploy_graph)
      .later("UnloadModel", Role::kControl, unload_model)
      .later("StartModel", Role::kControl, start_model)
      .later("StopModel", Role::kControl, stop_model)
      .later("ResetModel", Role::kControl, reset_model)
      .later("ResetDevice", Role::kControl, reset_device)
      .now("ListModels", Role::kAny, list_models)
      .now("GetStatistics", Role::kMonitor, get_statistics)
      .now("StartProfile", Role::kMonitor, start_profile)
      .now("RegisterRegion", Role::kInference, register_region)
      .later("UnregisterRegion", Role::kInference, unregister_region)
      .now("ListRegions", Role::kInference, list_regions)
      .now("CancelRequest", Role::kInference, cancel_request);
  ServiceMethods<Handlers>(methods, kRuntimeService, *this)
      .add("OpenSession", &Handlers::OpenSession)
      .add("LoadModel", &Handlers::LoadModel)
      .add("StopProfile", &Handlers::StopProfile)
      .add_shared<InferMessages>("Infer", &Handlers::Infer)
      .add("TakeReply", &Handlers::TakeReply)
      .add_streams("InferStream", &Handlers::InferStream);
  add_exchange_calls(*this, methods);
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

}  // namespace sluice::rpc::server
