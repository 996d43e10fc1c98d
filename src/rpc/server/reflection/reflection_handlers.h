// grpc.reflection: tools such as grpcurl learn from it which calls and messages the daemon has.
// libgrpc++_reflection knows v1alpha alone, and no tokens.
#pragma once

#include "proto/reflection/v1/reflection.grpc.pb.h"
#include "proto/reflection/v1alpha/reflection.grpc.pb.h"
#include "rpc/server/calls/handlers.h"

namespace sluice::rpc::server {

namespace reflection_v1 = grpc::reflection::v1;
namespace reflection_alpha = grpc::reflection::v1alpha;

/// Describes the services that the daemon's main server has. Any client with a role may ask.
class ReflectionHandlers final : public reflection_v1::ServerReflection::CallbackService {
 public:
  /// `handlers` outlive this.
  explicit ReflectionHandlers(Handlers& handlers) : handlers_(handlers) {}

  grpc::ServerBidiReactor<reflection_v1::ServerReflectionRequest,
                          reflection_v1::ServerReflectionResponse>*
  ServerReflectionInfo(grpc::CallbackServerContext* context) override;

 private:
  Handlers& handlers_;
};

/// The same for clients that know the name from before v1.
class AlphaReflectionHandlers final : public reflection_alpha::ServerReflection::CallbackService {
 public:
  /// `handlers` outlive this.
  explicit AlphaReflectionHandlers(Handlers& handlers) : handlers_(handlers) {}

  grpc::ServerBidiReactor<reflection_alpha::ServerReflectionRequest,
                          reflection_alpha::ServerReflectionResponse>*
  ServerReflectionInfo(grpc::CallbackServerContext* context) override;

 private:
  Handlers& handlers_;
};

}  // namespace sluice::rpc::server
