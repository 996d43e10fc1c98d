#include "rpc/server/open_inference/inference_handlers.h"

#include <optional>
#include <utility>

#include "base/no_memory.h"
#include "completions/language_model.h"
#include "open_inference/models.h"
#include "rpc/server/calls/unary_infer.h"
#include "rpc/server/load_report/load_trailer.h"
#include "rpc/server/open_inference/model_messages.h"
#include "rpc/server/open_inference/text_request.h"
#include "rpc/wire/coded_message.h"
#include "rpc/wire/error.h"

namespace sluice::rpc::server {

using repository::Repository;
using service::Caller;
using service::Service;
using terms::Role;

namespace {

/// KServe's clients have the name of the model where Triton's have that of the repository.
template <typename Request>
const std::string& model_name(const Request& request) {
  return request.model_name().empty() ? request.repository_name() : request.model_name();
}

using ControlParameters = google::protobuf::Map<std::string, inference::ModelRepositoryParameter>;

/// Nothing that a client adds may be passed over, as over HTTP. The configuration of a load.
Result<std::optional<std::string>> read_load(const ControlParameters& parameters) {
  std::optional<std::string> config;
  for (const auto& [name, value] : parameters) {
    SLUICE_TRY(open_inference::check_control(true, name));
    if (!value.has_string_param()) return invalid_argument("parameter \"{}\" is a text", name);
    config = value.string_param();
  }
  return config;
}

/// True for an unload of an ensemble's models, too.
Result<bool> read_unload(const ControlParameters& parameters) {
  bool unloads_dependents = false;
  for (const auto& [name, value] : parameters) {
    SLUICE_TRY(open_inference::check_control(false, name));
    if (!value.has_bool_param()) {
      return invalid_argument("parameter \"{}\" is true or false", name);
    }
    unloads_dependents = value.bool_param();
  }
  return unloads_dependents;
}

Status get_readiness(Service& service, const Caller& caller,
                     const inference::ModelReadyRequest& request,
                     inference::ModelReadyResponse& response) {
  response.set_ready(open_inference::is_ready(service, caller, request.name(), request.version()));
  return ok_status();
}

Status describe_server(Service& service, const Caller& /*caller*/,
                       const inference::ServerMetadataRequest& /*request*/,
                       inference::ServerMetadataResponse& response) {
  response.set_name(std::string(open_inference::kServerName));
  response.set_version(service.options().version);
  for (const std::string_view name : open_inference::extensions()) {
    response.add_extensions(std::string(name));
  }
  return ok_status();
}

Status describe_model(Service& service, const Caller& caller,
                      const inference::ModelMetadataRequest& request,
                      inference::ModelMetadataResponse& response) {
  const auto model =
      SLUICE_TRY(open_inference::find_model(service, caller, request.name(), request.version()));
  to_proto(open_inference::describe(service, caller, request.name(), *model), request.name(),
           response);
  return ok_status();
}

Status get_config(Handlers& handlers, const Caller& caller,
                  const inference::ModelConfigRequest& request,
                  inference::ModelConfigResponse& response) {
  const Service& service = handlers.service();
  const auto model =
      SLUICE_TRY(open_inference::find_model(service, caller, request.name(), request.version()));
  auto description = open_inference::describe(service, caller, request.name(), *model);
  description.is_decoupled = handlers.texts() != nullptr && completions::is_language_model(*model);
  to_proto(description, request.name(), *response.mutable_config());
  return ok_status();
}

Status get_statistics(Service& service, const Caller& caller,
                      const inference::ModelStatisticsRequest& request,
                      inference::ModelStatisticsResponse& response) {
  std::uint64_t model = 0;  // all
  if (!request.name().empty()) {
    model = static_cast<std::uint64_t>(SLUICE_TRY(
        open_inference::find_handle(service, caller, request.name(), request.version())));
  }
  for (const auto& entry : SLUICE_TRY(service.statistics(model))) {
    const std::int64_t version = service.version_of(terms::ModelHandle{entry.model});
    to_proto(entry, version, *response.add_model_stats());
  }
  return ok_status();
}

Status list_repository(Repository& repository, const Caller& /*caller*/,
                       const inference::RepositoryIndexRequest& request,
                       inference::RepositoryIndexResponse& response) {
  for (const auto& entry : SLUICE_TRY(repository.index())) {
    // The client filters on request; without the flag it sees models that failed, too.
    if (request.ready() && entry.state != repository::kReadyState) continue;
    to_proto(entry, *response.add_models());
  }
  return ok_status();
}

Status load(Repository& repository, const Caller& caller,
            const inference::RepositoryModelLoadRequest& request,
            inference::RepositoryModelLoadResponse& /*response*/) {
  auto config = SLUICE_TRY(read_load(request.parameters()));
  return repository.load(caller, model_name(request), std::move(config));
}

Status unload(Repository& repository, const Caller& caller,
              const inference::RepositoryModelUnloadRequest& request,
              inference::RepositoryModelUnloadResponse& /*response*/) {
  const bool with_steps = SLUICE_TRY(read_unload(request.parameters()));
  return repository.unload(caller, model_name(request), with_steps);
}

void get_liveness(Handlers& /*handlers*/, CallContext* context,
                  const inference::ServerLiveRequest* request,
                  inference::ServerLiveResponse* response) {
  // A daemon that answers is alive. Readiness is the stricter question.
  return Handlers::for_anybody(context, request, [&] { response->set_live(true); });
}

void get_server_readiness(Handlers& handlers, CallContext* context,
                          const inference::ServerReadyRequest* request,
                          inference::ServerReadyResponse* response) {
  return Handlers::for_anybody(context, request,
                               [&] { response->set_ready(handlers.service().is_ready()); });
}

void infer(Handlers& handlers, CallContext* context,
           const std::shared_ptr<OpenInferMessages>& messages) {
  const auto observation = handlers.observe(*context, {.door = "open-inference"});
  // All that may fail or allocate before the runtime has the request, so that one catch covers a
  // lack of memory.
  const auto prepare = [&]() -> Result<std::pair<service::Admission, runtime::Request>> {
    service::Admission admission;
    admission.observation = observation;
    admission.caller = SLUICE_TRY(handlers.caller_of(*context, Role::kInference));
    SLUICE_TRY(wire::inflate(messages->request, wire::max_inflated_bytes()));
    admission.model = SLUICE_TRY(open_inference::find_model(handlers.service(), admission.caller,
                                                            messages->request.model_name(),
                                                            messages->request.model_version()));
    if (asks_for_text(*admission.model, messages->request)) {
      return completions::text_needs_stream(*admission.model);
    }
    // Taken with 0 bytes now: the size of the answer is known when it is written, and then the
    // budget of the session pays.
    messages->charge = SLUICE_TRY(ByteCharge::take(admission.caller.session->answers(), 0));
    OpenInferCall& call = messages->call;
    SLUICE_TRY(read_request(messages->request, call));
    SLUICE_TRY(open_inference::open_regions(*admission.caller.session, call.plain, call.owners));
    const dispatch::ModelRef& model = *admission.model;
    runtime::Request request = SLUICE_TRY(open_inference::to_runtime(
        call.plain, model, deadline_of(*context, model.clock()), call.owners));
    // The tensors lie in the message: the runtime holds it until the reply, also when the client
    // has gone.
    request.memory_owner = messages;
    request.exchange_owner = static_cast<std::uint64_t>(admission.caller.session->owner());
    // Now rather than with the answer: that comes under a lock of the group, and the report looks
    // at all groups.
    add_load_trailer(handlers.service().load_report(), *context);
    return std::pair{std::move(admission), std::move(request)};
  };
  auto prepared = catch_no_memory(prepare);
  if (!prepared.is_ok()) return refuse(*context, observation, prepared.status());
  auto& [admission, request] = *prepared;
  const auto write = [messages, model = admission.model,
                      limit_bytes = handlers.max_answer_bytes()](const runtime::Reply& reply) {
    return wire::to_grpc(write_response(reply, *model, messages->request, messages->call.plain,
                                        limit_bytes, messages->charge, messages->response));
  };
  return infer_unary(handlers, *context, admission, request, write);
}

}  // namespace

void add_inference_calls(Handlers& handlers, Repository& repository, Methods& methods) {
  CallerMethods<Handlers>(methods, kInferenceService, handlers, handlers)
      .now("ModelConfig", Role::kInference, get_config)
      .add_unary<inference::ServerLiveRequest, inference::ServerLiveResponse>("ServerLive",
                                                                              get_liveness)
      .add_unary<inference::ServerReadyRequest, inference::ServerReadyResponse>(
          "ServerReady", get_server_readiness)
      .add_shared<OpenInferMessages>("ModelInfer", infer)
      .add_streams("ModelStreamInfer", infer_stream);
  CallerMethods<Service>(methods, kInferenceService, handlers, handlers.service())
      .now("ModelReady", Role::kAny, get_readiness)
      .now("ServerMetadata", Role::kAny, describe_server)
      .now("ModelMetadata", Role::kInference, describe_model)
      .now("ModelStatistics", Role::kMonitor, get_statistics);
  CallerMethods<Repository>(methods, kInferenceService, handlers, repository)
      .now("RepositoryIndex", Role::kAny, list_repository)
      .later("RepositoryModelLoad", Role::kControl, load)
      .later("RepositoryModelUnload", Role::kControl, unload);
  add_memory_calls(handlers, methods);
  add_setting_calls(handlers, methods);
}

}  // namespace sluice::rpc::server
