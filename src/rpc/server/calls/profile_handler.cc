#include "rpc/server/calls/handlers.h"
#include "rpc/wire/error.h"
#include "rpc/wire/profile_messages.h"

namespace sluice::rpc::server {
namespace {

/// Sends a profile in parts. Parts that are unsent when the client disconnects are lost.
class StopProfileCall final : public grpc::ServerWriteReactor<v1::StopProfileResponse> {
 public:
  StopProfileCall(Handlers& handlers, const grpc::CallbackServerContext& context,
                  const v1::StopProfileRequest& request) {
    auto taken = stop(handlers, context, request);
    if (!taken.is_ok()) {
      Finish(wire::to_grpc(taken.status()));
      return;
    }
    parts_.emplace(std::move(*taken));
    send();
  }

  void OnWriteDone(bool is_ok) override {
    if (is_ok) {
      send();
    } else {
      Finish(wire::to_grpc(make_error(Code::kCancelled, "the client is gone")));
    }
  }
  void OnDone() override { delete this; }

 private:
  static Result<terms::Profile> stop(Handlers& handlers, const grpc::CallbackServerContext& context,
                                     const v1::StopProfileRequest& request) {
    const auto caller = SLUICE_TRY(handlers.caller_of(context, terms::Role::kMonitor));
    SLUICE_TRY(wire::inflate(request));
    return handlers.service().stop_profile(caller, request.profile());
  }

  void send() {
    part_.Clear();
    if (parts_->next(part_)) {
      StartWrite(&part_);
    } else {
      Finish(grpc::Status::OK);
    }
  }

  std::optional<wire::ProfileParts> parts_;
  v1::StopProfileResponse part_;
};

}  // namespace

grpc::ServerWriteReactor<v1::StopProfileResponse>* stop_profile(
    Handlers& handlers, const grpc::CallbackServerContext& context,
    const v1::StopProfileRequest& request) {
  return new StopProfileCall(handlers, context, request);
}

}  // namespace sluice::rpc::server
