#include <chrono>

#include "base/no_memory.h"
#include "rpc/server/handlers.h"
#include "rpc/server/placed_request.h"
#include "rpc/wire/convert.h"
#include "rpc/wire/error.h"

namespace sluice::rpc::server {
namespace {

using Messages = std::shared_ptr<InferMessages>;

/// On the engine's clock, which may be a simulation's.
std::int64_t deadline_of(const grpc::CallbackServerContext& context, const Clock& clock) {
  using std::chrono::system_clock;
  const system_clock::time_point deadline = context.deadline();
  if (deadline == system_clock::time_point::max()) return kNoDeadline;
  const auto left =
      std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - system_clock::now());
  const std::int64_t now_ns = clock.now_ns();
  return left.count() > kNoDeadline - now_ns ? kNoDeadline : now_ns + left.count();
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

/// A call whose request is computed by another thread, and may be cancelled meanwhile.
class InferCall final : public grpc::ServerUnaryReactor {
 public:
  explicit InferCall(std::shared_ptr<dispatch::Flight> flight) : flight_(std::move(flight)) {}

  /// The call may be finished, and this deleted, before `post` returns: then `flight` lives on.
  void start(Handlers& handlers, runtime::Request& request, const Messages& messages,
             const service::ClientSession& session) {
    const auto flight = flight_;
    const std::int64_t limit_bytes = handlers.max_answer_bytes();
    request.on_done = [this, flight, messages, limit_bytes](const runtime::Reply& reply) {
      Finish(answer(reply, flight->model(), limit_bytes, *messages));
    };
    const Status status = handlers.flights().post(flight, request, session.requests());
    if (!status.is_ok()) Finish(wire::to_grpc(status));
  }

  void OnCancel() override { flight_->cancel(); }
  void OnDone() override { delete this; }

 private:
  // gRPC passes the end of a call to a thread of its executor unless the reactions are as short as
  // these. The switch of threads would cost more than they do.
  bool InternalInlineable() override { return true; }

  const std::shared_ptr<dispatch::Flight> flight_;
};

/// gRPC's own reactor needs no thread of its executor's to end the call.
grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext& context, const grpc::Status& status) {
  auto* reactor = context.DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* infer(Handlers& handlers, grpc::CallbackServerContext& context,
                                const v1::InferRequest& wanted) {
  // The allocator of this call's messages made the holder.
  const auto* holder = static_cast<InferHolder*>(context.GetRpcAllocatorState());
  const Messages& messages = holder->messages();
  const auto admission = handlers.admit(context, terms::ModelHandle(wanted.model()));
  if (!admission.is_ok()) return finish(context, wire::to_grpc(admission.status()));
  auto charge = ByteCharge::take(admission->caller.session->answers(), 0);
  if (!charge.is_ok()) return finish(context, wire::to_grpc(charge.status()));
  messages->charge = std::move(*charge);
  auto request =
      catch_no_memory([&] { return request_of(handlers, context, *admission, messages); });
  if (!request.is_ok()) return finish(context, wire::to_grpc(request.status()));
  const service::ClientSession& session = *admission->caller.session;
  dispatch::FlightTable& flights = handlers.flights();
  const auto flight = flights.enter(admission->model, true);
  if (flight->is_for_this_thread()) {
    const auto reply = flights.compute(flight, *request, session.requests());
    if (!reply.is_ok()) return finish(context, wire::to_grpc(reply.status()));
    const std::int64_t limit_bytes = handlers.max_answer_bytes();
    return finish(context, answer(*reply, *admission->model, limit_bytes, *messages));
  }
  auto* call = new InferCall(flight);
  call->start(handlers, *request, messages, session);
  return call;
}

}  // namespace sluice::rpc::server
