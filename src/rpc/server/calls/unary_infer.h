// The part of a unary inference that no message format changes.
#pragma once

#include <functional>
#include <memory>

#include "rpc/server/calls/handlers.h"
#include "telemetry/observation.h"

namespace sluice::rpc::server {

/// Deadline of the call, on the engine's clock, which may be a simulation's.
std::int64_t deadline_of(const grpc::CallbackServerContext& context, const Clock& clock);

/// Fills the call's response, whose memory it keeps alive.
using AnswerCall = std::function<grpc::Status(const runtime::Reply& reply)>;

/// Also tells the admission's observation of the caller, and of an answer that cannot be written.
AnswerCall observed(AnswerCall answer, const service::Admission& admission);

/// Computes the request on this thread or has it computed; `answer` ends the call, on any thread.
/// A client that cancels the call cancels the request.
grpc::ServerUnaryReactor* infer_unary(Handlers& handlers, grpc::CallbackServerContext& context,
                                      const service::Admission& admission,
                                      runtime::Request& request, AnswerCall answer);

/// A call that ends at once. gRPC's own reactor needs no thread of its executor's for that.
grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext& context, const grpc::Status& status);
/// The same for a request that failed before a model had it.
grpc::ServerUnaryReactor* refuse(grpc::CallbackServerContext& context,
                                 const std::shared_ptr<telemetry::Observation>& observation,
                                 const Status& why);

}  // namespace sluice::rpc::server
