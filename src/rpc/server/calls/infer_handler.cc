#include "base/no_memory.h"
#include "rpc/server/calls/handlers.h"
#include "rpc/server/calls/placed_request.h"
#include "rpc/server/calls/unary_infer.h"
#include "rpc/wire/error.h"

namespace sluice::rpc::server {
namespace {

using Messages = std::shared_ptr<InferMessages>;

/// A message that came compressed is inflated once its sender is known.
Status open_message(Handlers& handlers, const grpc::CallbackServerContext& context,
                    const v1::InferRequest& wanted) {
  if (!wire::is_coded(wanted)) return ok_status();
  SLUICE_TRY(handlers.caller_of(context, terms::Role::kInference));
  return wire::inflate(wanted, wire::max_inflated_bytes());
}

/// `messages` own what the request reads.
Result<runtime::Request> request_of(Handlers& handlers, const grpc::CallbackServerContext& context,
                                    const service::Admission& admission, const Messages& messages) {
  const v1::InferRequest& wanted = messages->request;
  const dispatch::ModelRef& model = *admission.model;
  runtime::Request request;
  request.inputs = SLUICE_TRY(
      open_request(handlers.service(), *admission.caller.session, wanted, model, messages->placed));
  request.memory_owner = messages;
  request.deadline_ns = deadline_of(context, model.clock());
  request.priority = wanted.priority();
  request.wants_detail = wanted.wants_detail();
  request.exchange_owner = static_cast<std::uint64_t>(admission.caller.session->owner());
  return request;
}

/// Fills the call's response. `messages.charge` is the session's.
grpc::Status answer(const runtime::Reply& reply, const dispatch::ModelRef& model,
                    std::int64_t limit_bytes, InferMessages& messages) {
  if (reply.code != RuntimeCode::kOk && reply.outputs.empty()) {
    return wire::to_grpc(reply.errors);
  }
  return wire::to_grpc(write_answer(reply, model.signature(), messages.request.wants_detail(),
                                    messages.placed, limit_bytes, messages.charge,
                                    messages.response));
}

}  // namespace

grpc::ServerUnaryReactor* infer(Handlers& handlers, grpc::CallbackServerContext& context) {
  const Messages& messages = messages_of<InferMessages>(context.GetRpcAllocatorState());
  const v1::InferRequest& wanted = messages->request;
  const Status opened = catch_no_memory([&] { return open_message(handlers, context, wanted); });
  const auto observation = handlers.observe(
      context,
      {.door = "grpc", .traceparent = wanted.traceparent(), .tracestate = wanted.tracestate()});
  if (!opened.is_ok()) return refuse(context, observation, opened);
  auto admission = handlers.admit(context, terms::ModelHandle(wanted.model()));
  if (!admission.is_ok()) return refuse(context, observation, admission.status());
  admission->observation = observation;
  auto charge = ByteCharge::take(admission->caller.session->answers(), 0);
  if (!charge.is_ok()) return refuse(context, observation, charge.status());
  messages->charge = std::move(*charge);
  auto request =
      catch_no_memory([&] { return request_of(handlers, context, *admission, messages); });
  if (!request.is_ok()) return refuse(context, observation, request.status());
  return infer_unary(
      handlers, context, *admission, *request,
      [messages, model = admission->model, limit_bytes = handlers.max_answer_bytes()](
          const runtime::Reply& reply) { return answer(reply, *model, limit_bytes, *messages); });
}

}  // namespace sluice::rpc::server
