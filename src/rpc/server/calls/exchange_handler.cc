// The calls about tensors of the exchange.
#include <stop_token>
#include <utility>

#include "base/no_memory.h"
#include "rpc/server/calls/handlers.h"
#include "rpc/wire/convert.h"
#include "rpc/wire/error.h"

namespace sluice::rpc::server {

using service::Caller;
using terms::Role;

namespace {

/// A thread of the calls waits for the other daemon; it stops when the client is gone.
class PullCall final : public Reactor {
 public:
  PullCall(Handlers& handlers, CallContext& context, const v1::PullTensorRequest& request,
           v1::PullTensorResponse& response)
      : Reactor(context) {
    auto caller = handlers.caller_of(context, Role::kInference);
    Status status = caller.is_ok() ? ok_status() : caller.status();
    if (status.is_ok()) {
      // Request and response live until on_done, which comes after `finish`.
      status = handlers.threads().run(
          [this, &handlers, &request, &response, caller = std::move(*caller)] {
            finish(wire::to_grpc(
                catch_no_memory([&] { return pull(handlers, caller, request, response); })));
          });
    }
    if (!status.is_ok()) finish(wire::to_grpc(status));
  }

  void on_cancel() override { stop_.request_stop(); }
  void on_done() override { delete this; }

 private:
  Status pull(Handlers& handlers, const service::Caller& caller,
              const v1::PullTensorRequest& request, v1::PullTensorResponse& response) {
    SLUICE_TRY(wire::inflate(request));
    const auto pulled = SLUICE_TRY(handlers.service().pull_tensor(
        caller, {request.from(), request.exchange(), request.key()}, request.ttl_ns(), stop_));
    response.set_exchange(static_cast<std::uint64_t>(pulled.index));
    v1::Tensor& tensor = *response.mutable_tensor();
    tensor.set_element_type(static_cast<std::int32_t>(pulled.view.element));
    for (const std::int64_t dim : pulled.view.dims) tensor.add_shape(dim);
    return ok_status();
  }

  std::stop_source stop_;
};

void pull_tensor(Handlers& handlers, CallContext* context, const v1::PullTensorRequest* request,
                 v1::PullTensorResponse* response) {
  new PullCall(handlers, *context, *request, *response);
}

void put_tensor(Handlers& handlers, CallContext* context, const v1::PutTensorRequest* request,
                v1::PutTensorResponse* response) {
  return handlers.now(
      context, request, Role::kInference,
      [&](const Caller& caller) -> Status {
        const v1::Tensor& tensor = request->tensor();
        if (tensor.has_place() || tensor.exchange() != 0) {
          return terms::runtime_error(RuntimeCode::kBadInput,
                                      "a tensor to put comes with its data");
        }
        const terms::TensorView view = SLUICE_TRY(wire::view_of(tensor));
        const auto index =
            SLUICE_TRY(handlers.service().put_tensor(caller, view, request->ttl_ns()));
        response->set_exchange(static_cast<std::uint64_t>(index));
        return ok_status();
      },
      wire::max_inflated_bytes());
}

Status get_tensor(Handlers& handlers, const Caller& caller, const v1::GetTensorRequest& request,
                  v1::GetTensorResponse& response) {
  const auto lease = SLUICE_TRY(handlers.service().exchange().get(
      caller.session->owner(), terms::TensorIndex{request.exchange()}));
  if (lease->view.size_bytes > handlers.max_answer_bytes()) {
    return terms::runtime_error(RuntimeCode::kOutOfResources,
                                "the tensor has {} bytes, a message at most {}",
                                lease->view.size_bytes, handlers.max_answer_bytes());
  }
  wire::to_proto(lease->view, "", *response.mutable_tensor());
  return ok_status();
}

Status remove_tensor(Handlers& handlers, const Caller& caller,
                     const v1::RemoveTensorRequest& request,
                     v1::RemoveTensorResponse& /*response*/) {
  return handlers.service().exchange().remove(caller.session->owner(),
                                              terms::TensorIndex{request.exchange()});
}

Status offer_tensor(Handlers& handlers, const Caller& caller, const v1::OfferTensorRequest& request,
                    v1::OfferTensorResponse& response) {
  const terms::TensorIndex index{request.exchange()};
  response.set_key(SLUICE_TRY(handlers.service().offer_tensor(caller, index)));
  return ok_status();
}

Status bring_tensor(Handlers& handlers, const Caller& caller, const v1::BringTensorRequest& request,
                    v1::BringTensorResponse& response) {
  const auto from = SLUICE_TRY(handlers.service().bring_tensor(
      caller, terms::TensorIndex{request.exchange()}, terms::DeviceId(request.device())));
  if (from) response.set_from(from->value());
  return ok_status();
}

}  // namespace

void add_exchange_calls(Handlers& handlers, Methods& methods) {
  CallerMethods<Handlers>(methods, kRuntimeService, handlers, handlers)
      .now("GetTensor", Role::kInference, get_tensor)
      .now("RemoveTensor", Role::kInference, remove_tensor)
      .now("OfferTensor", Role::kInference, offer_tensor)
      .later("BringTensor", Role::kInference, bring_tensor)
      .add_unary<v1::PutTensorRequest, v1::PutTensorResponse>("PutTensor", put_tensor)
      .add_unary<v1::PullTensorRequest, v1::PullTensorResponse>("PullTensor", pull_tensor);
}

}  // namespace sluice::rpc::server
