// The part of a unary inference that no message format changes.
#pragma once

#include <functional>
#include <memory>

#include "rpc/server/calls/handlers.h"
#include "telemetry/observation.h"

namespace sluice::rpc::server {

/// Deadline of the call, on the engine's clock, which may be a simulation's.
std::int64_t deadline_of(const CallContext& context, const Clock& clock);

/// Fills the call's response, whose memory it keeps alive.
using AnswerCall = std::function<grpc::Status(const runtime::Reply& reply)>;

/// Also tells the admission's observation of the caller, and of an answer that cannot be written.
AnswerCall observed(AnswerCall answer, const service::Admission& admission);

/// Computes the request on this thread or has it computed; `answer` ends the call, on any thread.
/// A client that cancels the call cancels the request.
void infer_unary(Handlers& handlers, CallContext& context, const service::Admission& admission,
                 runtime::Request& request, AnswerCall answer);

/// Ends a call whose request failed before a model had it.
void refuse(CallContext& context, const std::shared_ptr<telemetry::Observation>& observation,
            const Status& why);

}  // namespace sluice::rpc::server
