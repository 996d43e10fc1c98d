// grpc.health.v1: of the daemon, and of each model by its name.
#pragma once

#include "proto/health/health.pb.h"
#include "rpc/server/calls/handlers.h"
#include "rpc/server/health/stream_counts.h"

namespace sluice::rpc::server {

/// The service "" is the daemon: any client may ask for it, without a token, as probes do. Every
/// other service is the name of a model, for which the caller needs some role; it serves while the
/// daemon and the model are ready. Answers come from the state at the moment of the question.
class HealthHandlers final {
 public:
  /// `handlers` outlive this.
  explicit HealthHandlers(Handlers& handlers) : handlers_(handlers) {}

  /// Adds the calls of grpc.health.v1.
  void add_to(Methods& methods);

  using Context = CallContext;
  using Request = grpc::health::v1::HealthCheckRequest;
  using Response = grpc::health::v1::HealthCheckResponse;

  // NOLINTBEGIN(readability-identifier-naming): the calls have the names of the protocol.
  /// NOT_FOUND for a model that is not loaded.
  void Check(Context* context, const Request* request, Response* response);
  /// The state now, and each change within half a second; SERVICE_UNKNOWN for a model that is not
  /// loaded. RESOURCE_EXHAUSTED beyond 1024 calls, of one connection beyond 16 that watch the
  /// daemon or 256 that watch models.
  void Watch(Context* context, const Request* request);
  // NOLINTEND(readability-identifier-naming)

 private:
  Handlers& handlers_;
  StreamCounts watches_;
};

}  // namespace sluice::rpc::server
