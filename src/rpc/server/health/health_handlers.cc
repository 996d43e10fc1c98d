#include "rpc/server/health/health_handlers.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "open_inference/models.h"
#include "rpc/server/calls/unary_infer.h"
#include "rpc/wire/error.h"
#include "rpc/wire/times.h"

namespace sluice::rpc::server {
namespace {

using Response = HealthHandlers::Response;
using ServingStatus = Response::ServingStatus;

/// Limit of one connection. Whoever watches models has a role, and may have many models.
constexpr std::size_t kMaxWatchesOfModels = 256;

/// SERVICE_UNKNOWN for a model that is not loaded, or belongs to somebody else's session.
ServingStatus status_of(const service::Service& service, const service::Caller* caller,
                        const std::string& name) {
  if (caller != nullptr) {
    const auto model = open_inference::find_handle(service, *caller, name, "");
    if (!model.is_ok()) return Response::SERVICE_UNKNOWN;
    if (!open_inference::is_ready(service, *caller, name, "")) return Response::NOT_SERVING;
  }
  return service.is_ready() ? Response::SERVING : Response::NOT_SERVING;
}

/// Looks again and again: nothing in the daemon reports every change of a model's state.
class WatchCall final : public Reactor {
 public:
  WatchCall(CallContext& context, StreamCounts::Pass pass, service::Service& service,
            std::optional<service::Caller> caller, std::string name)
      : Reactor(context),
        pass_(std::move(pass)),
        service_(service),
        caller_(std::move(caller)),
        name_(std::move(name)) {
    on_time();
  }

  void on_time() override {
    const ServingStatus now = status_of(service_, caller_ ? &*caller_ : nullptr, name_);
    if (now == response_.status()) return start_timer(wire::kLookNs);
    response_.set_status(now);
    start_write(response_);
  }
  void on_write_done(bool is_ok) override {
    if (is_ok) start_timer(wire::kLookNs);
  }
  void on_cancel() override { finish(grpc::Status::CANCELLED); }
  void on_done() override { delete this; }

 private:
  const StreamCounts::Pass pass_;
  service::Service& service_;
  const std::optional<service::Caller> caller_;  ///< none: the daemon is watched
  const std::string name_;
  Response response_;  ///< UNKNOWN before the first look
};

}  // namespace

void HealthHandlers::add_to(Methods& methods) {
  ServiceMethods<HealthHandlers>(methods, "grpc.health.v1.Health", *this)
      .add("Check", &HealthHandlers::Check)
      .add("Watch", &HealthHandlers::Watch);
}

void HealthHandlers::Check(Context* context, const Request* request, Response* response) {
  const service::Service& service = handlers_.service();
  const Status inflated = wire::inflate(*request, Handlers::kMaxProbeBytes);
  if (!inflated.is_ok()) return context->finish(wire::to_grpc(inflated));
  if (request->service().empty()) {
    response->set_status(status_of(service, nullptr, ""));
    return context->finish(grpc::Status::OK);
  }
  return handlers_.now(
      context, request, terms::Role::kAny, [&](const service::Caller& caller) -> Status {
        const ServingStatus status = status_of(service, &caller, request->service());
        if (status == Response::SERVICE_UNKNOWN) {
          return make_error(Code::kNotFound, "no model of this name is loaded");
        }
        response->set_status(status);
        return ok_status();
      });
}

void HealthHandlers::Watch(Context* context, const Request* request) {
  const Status inflated = wire::inflate(*request, Handlers::kMaxProbeBytes);
  if (!inflated.is_ok()) return context->finish(wire::to_grpc(inflated));
  std::optional<service::Caller> caller;
  if (!request->service().empty()) {
    auto known = handlers_.caller_of(*context, terms::Role::kAny);
    if (!known.is_ok()) return context->finish(wire::to_grpc(known.status()));
    caller = std::move(*known);
  }
  auto pass =
      watches_.enter(context->connection(),
                     caller.has_value() ? kMaxWatchesOfModels : StreamCounts::kMaxOfConnection);
  if (pass == nullptr) {
    return context->finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                            "too many calls watch already, in all or over this connection"});
  }
  new WatchCall(*context, std::move(pass), handlers_.service(), std::move(caller),
                request->service());
}

}  // namespace sluice::rpc::server
