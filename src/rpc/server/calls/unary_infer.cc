#include "rpc/server/calls/unary_infer.h"

#include <chrono>
#include <utility>

#include "rpc/wire/error.h"

namespace sluice::rpc::server {
namespace {

/// A call whose request is computed by another thread, and may be cancelled meanwhile.
class InferCall final : public grpc::ServerUnaryReactor {
 public:
  explicit InferCall(std::shared_ptr<dispatch::Flight> flight) : flight_(std::move(flight)) {}

  /// The call may be finished, and this deleted, before `post` returns: then `flight` lives on.
  void start(Handlers& handlers, runtime::Request& request, AnswerCall answer,
             const dispatch::RequestLimits& limits) {
    const auto flight = flight_;
    request.on_done = [this, answer = std::move(answer)](const runtime::Reply& reply) {
      Finish(answer(reply));
    };
    const Status status = handlers.flights().post(flight, request, limits);
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

}  // namespace

std::int64_t deadline_of(const grpc::CallbackServerContext& context, const Clock& clock) {
  using std::chrono::system_clock;
  const system_clock::time_point deadline = context.deadline();
  if (deadline == system_clock::time_point::max()) return kNoDeadline;
  const auto left =
      std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - system_clock::now());
  const std::int64_t now_ns = clock.now_ns();
  return left.count() > kNoDeadline - now_ns ? kNoDeadline : now_ns + left.count();
}

AnswerCall observed(AnswerCall answer, const service::Admission& admission) {
  if (admission.observation == nullptr) return answer;
  return [answer = std::move(answer),
          observation = admission.observation](const runtime::Reply& reply) {
    grpc::Status status = answer(reply);
    if (!status.ok()) {
      observation->fail(Status(static_cast<Code>(status.error_code()), status.error_message()));
    }
    return status;
  };
}

grpc::ServerUnaryReactor* infer_unary(Handlers& handlers, grpc::CallbackServerContext& context,
                                      const service::Admission& admission,
                                      runtime::Request& request, AnswerCall answer) {
  dispatch::FlightTable& flights = handlers.flights();
  const auto flight = flights.enter(admission.model, true, admission.observation);
  answer = observed(std::move(answer), admission);
  if (flight->is_for_this_thread()) {
    const auto reply = flights.compute(flight, request, admission.limits);
    return finish(context, reply.is_ok() ? answer(*reply) : wire::to_grpc(reply.status()));
  }
  auto* call = new InferCall(flight);
  call->start(handlers, request, std::move(answer), admission.limits);
  return call;
}

grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext& context, const grpc::Status& status) {
  auto* reactor = context.DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

grpc::ServerUnaryReactor* refuse(grpc::CallbackServerContext& context,
                                 const std::shared_ptr<telemetry::Observation>& observation,
                                 const Status& why) {
  return finish(context, wire::to_grpc(telemetry::failed(observation, why)));
}

}  // namespace sluice::rpc::server
