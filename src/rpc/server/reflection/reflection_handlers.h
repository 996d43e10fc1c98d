// grpc.reflection: tools such as grpcurl learn from it which calls and messages the daemon has.
// libgrpc++_reflection knows v1alpha alone, and no tokens.
#pragma once

#include "proto/reflection/v1/reflection.pb.h"
#include "proto/reflection/v1alpha/reflection.pb.h"
#include "rpc/server/calls/handlers.h"

namespace sluice::rpc::server {

namespace reflection_v1 = grpc::reflection::v1;
namespace reflection_alpha = grpc::reflection::v1alpha;

/// Describes the services that the daemon's main server has. Any client with a role may ask.
class ReflectionHandlers final {
 public:
  /// `handlers` outlive this.
  explicit ReflectionHandlers(Handlers& handlers) : handlers_(handlers) {}

  /// Adds the calls of grpc.reflection.v1 and v1alpha, which clients know from before v1.
  void add_to(Methods& methods);

  void answer(CallContext* context);
  void answer_alpha(CallContext* context);

 private:
  Handlers& handlers_;
};

}  // namespace sluice::rpc::server
