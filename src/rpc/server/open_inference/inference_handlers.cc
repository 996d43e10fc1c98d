#include "rpc/server/open_inference/inference_handlers.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/no_memory.h"
#include "base/utf8.h"
#include "rpc/server/calls/unary_infer.h"
#include "rpc/server/open_inference/model_messages.h"
#include "rpc/wire/error.h"

namespace sluice::rpc::server {

using terms::ModelHandle;
using terms::Role;

namespace {

/// KServe's clients have the name of the model where Triton's have that of the repository.
template <typename Request>
const std::string& model_name(const Request& request) {
  return request.model_name().empty() ? request.repository_name() : request.model_name();
}

/// The package of this name in one of the folders. Fails: kNotFound, kInvalidArgument.
Result<std::filesystem::path> find_package(const std::string& name,
                                           const std::vector<std::filesystem::path>& folders) {
  SLUICE_TRY(check_name(name, "model"));
  if (name.find('/') != std::string::npos) {
    return invalid_argument("model \"{}\": a name has no slash", valid_utf8(name));
  }
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path path = folder / (name + ".sluice");
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path;
  }
  return make_error(Code::kNotFound, "no model folder has \"{}.sluice\"", valid_utf8(name));
}

/// What a client adds to a load would change the model; nothing may be passed over.
Status check_no_parameters(
    const google::protobuf::Map<std::string, inference::ModelRepositoryParameter>& parameters) {
  if (parameters.empty()) return ok_status();
  return make_error(Code::kUnimplemented, "parameter \"{}\": a load takes none",
                    valid_utf8(parameters.begin()->first.substr(0, kMaxNameBytes)));
}

}  // namespace

InferenceHandlers::InferenceHandlers(Handlers& handlers) : handlers_(handlers) {
  SetMessageAllocatorFor_ModelInfer(&infer_allocator_);
}

Result<ModelHandle> InferenceHandlers::find(const service::Caller& caller, const std::string& name,
                                            const std::string& version) const {
  SLUICE_TRY(open_inference::check_version(name, version));
  return service().find_named(caller.session->id(), name);
}

InferenceHandlers::Unary* InferenceHandlers::ServerLive(
    Context* context, const inference::ServerLiveRequest* /*request*/,
    inference::ServerLiveResponse* response) {
  return handlers_.now(context, Role::kAny, [&](const service::Caller& /*caller*/) {
    response->set_live(true);
    return ok_status();
  });
}

InferenceHandlers::Unary* InferenceHandlers::ServerReady(
    Context* context, const inference::ServerReadyRequest* /*request*/,
    inference::ServerReadyResponse* response) {
  return handlers_.now(context, Role::kAny, [&](const service::Caller& /*caller*/) {
    response->set_ready(service().health().is_ready);
    return ok_status();
  });
}

InferenceHandlers::Unary* InferenceHandlers::ModelReady(Context* context,
                                                        const inference::ModelReadyRequest* request,
                                                        inference::ModelReadyResponse* response) {
  return handlers_.now(context, Role::kAny, [&](const service::Caller& caller) {
    const auto model = find(caller, request->name(), request->version());
    const auto entries = model.is_ok() ? service().list_models(static_cast<std::uint64_t>(*model))
                                       : Result<std::vector<terms::ModelEntry>>(model.status());
    // A model that is not there is not ready; clients ask before they load it.
    response->set_ready(entries.is_ok() && open_inference::is_ready(entries->front()));
    return ok_status();
  });
}

InferenceHandlers::Unary* InferenceHandlers::ServerMetadata(
    Context* context, const inference::ServerMetadataRequest* /*request*/,
    inference::ServerMetadataResponse* response) {
  return handlers_.now(context, Role::kAny, [&](const service::Caller& /*caller*/) {
    response->set_name(std::string(open_inference::kServerName));
    response->set_version(service().options().version);
    for (const std::string_view name : open_inference::extensions()) {
      response->add_extensions(std::string(name));
    }
    return ok_status();
  });
}

InferenceHandlers::Unary* InferenceHandlers::ModelMetadata(
    Context* context, const inference::ModelMetadataRequest* request,
    inference::ModelMetadataResponse* response) {
  return handlers_.now(context, Role::kInference, [&](const service::Caller& caller) -> Status {
    const auto model = SLUICE_TRY(find(caller, request->name(), request->version()));
    const auto ref = SLUICE_TRY(service().find_model(caller, model));
    to_proto(open_inference::describe(*ref), request->name(), *response);
    return ok_status();
  });
}

InferenceHandlers::Unary* InferenceHandlers::ModelConfig(
    Context* context, const inference::ModelConfigRequest* request,
    inference::ModelConfigResponse* response) {
  return handlers_.now(context, Role::kInference, [&](const service::Caller& caller) -> Status {
    const auto model = SLUICE_TRY(find(caller, request->name(), request->version()));
    const auto ref = SLUICE_TRY(service().find_model(caller, model));
    to_proto(open_inference::describe(*ref), request->name(), *response->mutable_config());
    return ok_status();
  });
}

InferenceHandlers::Unary* InferenceHandlers::ModelStatistics(
    Context* context, const inference::ModelStatisticsRequest* request,
    inference::ModelStatisticsResponse* response) {
  return handlers_.now(context, Role::kMonitor, [&](const service::Caller& caller) -> Status {
    std::uint64_t model = 0;  // all
    if (!request->name().empty()) {
      model =
          static_cast<std::uint64_t>(SLUICE_TRY(find(caller, request->name(), request->version())));
    }
    for (const auto& entry : SLUICE_TRY(service().statistics(model))) {
      to_proto(entry, *response->add_model_stats());
    }
    return ok_status();
  });
}

InferenceHandlers::Unary* InferenceHandlers::RepositoryIndex(
    Context* context, const inference::RepositoryIndexRequest* request,
    inference::RepositoryIndexResponse* response) {
  return handlers_.now(context, Role::kAny, [&](const service::Caller& /*caller*/) -> Status {
    for (const auto& entry : SLUICE_TRY(service().list_models(0))) {
      if (request->ready() && !open_inference::is_ready(entry)) continue;
      to_proto(entry, *response->add_models());
    }
    return ok_status();
  });
}

InferenceHandlers::Unary* InferenceHandlers::RepositoryModelLoad(
    Context* context, const inference::RepositoryModelLoadRequest* request,
    inference::RepositoryModelLoadResponse* /*response*/) {
  return handlers_.later(
      context, Role::kControl, [this, request](const service::Caller& caller) -> Status {
        SLUICE_TRY(check_no_parameters(request->parameters()));
        const std::string& name = model_name(*request);
        // A load of a model that is there succeeds, as clients expect who load before each use.
        if (service().find_named(caller.session->id(), name).is_ok()) return ok_status();
        const auto path = SLUICE_TRY(find_package(name, service().options().model_folders));
        terms::LoadOptions options;
        options.name = name;
        SLUICE_TRY(service().load(caller, options, path, nullptr));
        return ok_status();
      });
}

InferenceHandlers::Unary* InferenceHandlers::RepositoryModelUnload(
    Context* context, const inference::RepositoryModelUnloadRequest* request,
    inference::RepositoryModelUnloadResponse* /*response*/) {
  return handlers_.later(
      context, Role::kControl, [this, request](const service::Caller& caller) -> Status {
        const auto model =
            SLUICE_TRY(service().find_named(caller.session->id(), model_name(*request)));
        return service().unload(caller, model, service().options().drain_limit_ns);
      });
}

InferenceHandlers::Unary* InferenceHandlers::ModelInfer(
    Context* context, const inference::ModelInferRequest* /*request*/,
    inference::ModelInferResponse* /*response*/) {
  return infer(handlers_, *context,
               messages_of<OpenInferMessages>(context->GetRpcAllocatorState()));
}

grpc::ServerBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse>*
InferenceHandlers::ModelStreamInfer(Context* context) {
  return infer_stream_open(handlers_, *context);
}

Result<std::shared_ptr<dispatch::ModelRef>> find_model(
    const service::Service& service, const service::Caller& caller,
    const inference::ModelInferRequest& request) {
  SLUICE_TRY(open_inference::check_version(request.model_name(), request.model_version()));
  const auto model = SLUICE_TRY(service.find_named(caller.session->id(), request.model_name()));
  return service.find_model(caller, model);
}

grpc::ServerUnaryReactor* infer(Handlers& handlers, grpc::CallbackServerContext& context,
                                const std::shared_ptr<OpenInferMessages>& messages) {
  const auto prepare = [&]() -> Result<std::pair<service::Admission, runtime::Request>> {
    service::Admission admission;
    admission.caller = SLUICE_TRY(handlers.caller_of(context, Role::kInference));
    admission.model =
        SLUICE_TRY(find_model(handlers.service(), admission.caller, messages->request));
    messages->charge = SLUICE_TRY(ByteCharge::take(admission.caller.session->answers(), 0));
    OpenInferCall& call = messages->call;
    SLUICE_TRY(read_request(messages->request, call));
    const dispatch::ModelRef& model = *admission.model;
    runtime::Request request = SLUICE_TRY(open_inference::to_runtime(
        call.plain, model, deadline_of(context, model.clock()), call.owners));
    request.memory_owner = messages;
    request.exchange_owner = static_cast<std::uint64_t>(admission.caller.session->owner());
    return std::pair{std::move(admission), std::move(request)};
  };
  auto prepared = catch_no_memory(prepare);
  if (!prepared.is_ok()) return finish(context, wire::to_grpc(prepared.status()));
  auto& [admission, request] = *prepared;
  const auto write = [messages, model = admission.model,
                      limit_bytes = handlers.max_answer_bytes()](const runtime::Reply& reply) {
    return wire::to_grpc(write_response(reply, model->signature(), messages->request,
                                        messages->call.plain, limit_bytes, messages->charge,
                                        messages->response));
  };
  return infer_unary(handlers, context, admission, request, write);
}

}  // namespace sluice::rpc::server
