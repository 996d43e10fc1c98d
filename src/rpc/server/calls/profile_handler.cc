#include "rpc/server/calls/handlers.h"
#include "rpc/wire/error.h"
#include "rpc/wire/profile_messages.h"

namespace sluice::rpc::server {
namespace {

/// Sends a profile in parts. Parts that are unsent when the client disconnects are lost.
class StopProfileCall final : public Reactor {
 public:
  StopProfileCall(Handlers& handlers, CallContext& context, const v1::StopProfileRequest& request)
      : Reactor(context) {
    auto taken = stop(handlers, context, request);
    if (!taken.is_ok()) {
      finish(wire::to_grpc(taken.status()));
      return;
    }
    parts_.emplace(std::move(*taken));
    send();
  }

  void on_write_done(bool is_ok) override {
    if (is_ok) {
      send();
    } else {
      finish(wire::to_grpc(make_error(Code::kCancelled, "the client is gone")));
    }
  }
  void on_done() override { delete this; }

 private:
  static Result<terms::Profile> stop(Handlers& handlers, CallContext& context,
                                     const v1::StopProfileRequest& request) {
    const auto caller = SLUICE_TRY(handlers.caller_of(context, terms::Role::kMonitor));
    SLUICE_TRY(wire::inflate(request));
    return handlers.service().stop_profile(caller, request.profile());
  }

  void send() {
    part_.Clear();
    if (parts_->next(part_)) {
      start_write(part_);
    } else {
      finish(grpc::Status::OK);
    }
  }

  std::optional<wire::ProfileParts> parts_;
  v1::StopProfileResponse part_;
};

}  // namespace

void Handlers::StopProfile(Context* context, const v1::StopProfileRequest* request) {
  new StopProfileCall(*this, *context, *request);
}

}  // namespace sluice::rpc::server
