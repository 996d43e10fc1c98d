#include "rpc/server/calls/unary_infer.h"

#include <utility>

#include "rpc/wire/error.h"

namespace sluice::rpc::server {
namespace {

/// A call whose request is computed by another thread, and may be cancelled meanwhile.
class InferCall final : public Reactor {
 public:
  InferCall(CallContext& context, std::shared_ptr<dispatch::Flight> flight)
      : Reactor(context), flight_(std::move(flight)) {}

  void start(Handlers& handlers, runtime::Request& request, AnswerCall answer,
             const dispatch::RequestLimits& limits) {
    request.on_done = [this, answer = std::move(answer)](const runtime::Reply& reply) {
      finish(answer(reply));
    };
    const Status status = handlers.flights().post(flight_, request, limits);
    if (!status.is_ok()) finish(wire::to_grpc(status));
  }

  void on_cancel() override { flight_->cancel(); }
  void on_done() override { delete this; }

 private:
  const std::shared_ptr<dispatch::Flight> flight_;
};

}  // namespace

std::int64_t deadline_of(const CallContext& context, const Clock& clock) {
  if (context.deadline_ns() == kNoDeadline) return kNoDeadline;
  const std::int64_t left_ns = context.deadline_ns() - system_clock().now_ns();
  const std::int64_t now_ns = clock.now_ns();
  return left_ns > kNoDeadline - now_ns ? kNoDeadline : now_ns + left_ns;
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

void infer_unary(Handlers& handlers, CallContext& context, const service::Admission& admission,
                 runtime::Request& request, AnswerCall answer) {
  dispatch::FlightTable& flights = handlers.flights();
  const auto flight = flights.enter(admission.model, true, admission.observation);
  answer = observed(std::move(answer), admission);
  if (flight->is_for_this_thread()) {
    const auto reply = flights.compute(flight, request, admission.limits);
    return context.finish(reply.is_ok() ? answer(*reply) : wire::to_grpc(reply.status()));
  }
  auto* call = new InferCall(context, flight);
  call->start(handlers, request, std::move(answer), admission.limits);
}

void refuse(CallContext& context, const std::shared_ptr<telemetry::Observation>& observation,
            const Status& why) {
  context.finish(wire::to_grpc(telemetry::failed(observation, why)));
}

}  // namespace sluice::rpc::server
