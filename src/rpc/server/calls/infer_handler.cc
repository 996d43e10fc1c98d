#include "base/no_memory.h"
#include "rpc/server/calls/handlers.h"
#include "rpc/server/calls/placed_request.h"
#include "rpc/server/calls/unary_infer.h"
#include "rpc/wire/error.h"

namespace sluice::rpc::server {
namespace {

using Messages = std::shared_ptr<InferMessages>;

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

grpc::ServerUnaryReactor* infer(Handlers& handlers, grpc::CallbackServerContext& context,
                                const v1::InferRequest& wanted) {
  const Messages& messages = messages_of<InferMessages>(context.GetRpcAllocatorState());
  const auto admission = handlers.admit(context, terms::ModelHandle(wanted.model()));
  if (!admission.is_ok()) return finish(context, wire::to_grpc(admission.status()));
  auto charge = ByteCharge::take(admission->caller.session->answers(), 0);
  if (!charge.is_ok()) return finish(context, wire::to_grpc(charge.status()));
  messages->charge = std::move(*charge);
  auto request =
      catch_no_memory([&] { return request_of(handlers, context, *admission, messages); });
  if (!request.is_ok()) return finish(context, wire::to_grpc(request.status()));
  return infer_unary(
      handlers, context, *admission, *request,
      [messages, model = admission->model, limit_bytes = handlers.max_answer_bytes()](
          const runtime::Reply& reply) { return answer(reply, *model, limit_bytes, *messages); });
}

}  // namespace sluice::rpc::server
