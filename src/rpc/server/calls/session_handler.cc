#include <mutex>

#include "rpc/server/calls/handlers.h"
#include "rpc/wire/error.h"

namespace sluice::rpc::server {
namespace {

/// Lives for as long as the client holds its lease. The session's listener and the call end in any
/// order, so both hold `ending_`.
class SessionCall final : public Reactor {
 public:
  SessionCall(Handlers& handlers, CallContext& context, const v1::OpenSessionRequest& request)
      : Reactor(context), handlers_(handlers), ending_(std::make_shared<Ending>()) {
    ending_->call = this;
    auto session = open(context, request);
    if (!session.is_ok()) {
      ending_->finish(session.status());
      return;
    }
    session_ = std::move(*session);
    response_.set_session(static_cast<std::uint64_t>(session_->id()));
    response_.set_token(session_->token());
    start_write(response_);
    const bool is_open =
        session_->on_close([ending = ending_](const Status& reason) { ending->finish(reason); });
    if (!is_open) ending_->finish(make_error(Code::kAborted, "the session was closed"));
  }

  void on_write_done(bool is_ok) override {
    if (!is_ok) ending_->finish(make_error(Code::kCancelled, "the client is gone"));
  }
  void on_cancel() override {
    ending_->finish(make_error(Code::kCancelled, "the client ended it, or is gone"));
  }
  void on_done() override {
    if (session_ != nullptr) {
      session_->on_close(nullptr);
      handlers_.threads().run_always([&service = handlers_.service(), id = session_->id()] {
        service.close_session(id, make_error(Code::kCancelled, "the client ended it, or is gone"));
      });
    }
    delete this;
  }

 private:
  /// Finishes the call once, whoever comes first.
  struct Ending {
    std::mutex mutex;
    SessionCall* call = nullptr;  ///< null once it is finished

    void finish(const Status& status) {
      const std::lock_guard lock(mutex);
      if (call == nullptr) return;
      std::exchange(call, nullptr)->Reactor::finish(wire::to_grpc(status));
    }
  };

  Result<std::shared_ptr<service::ClientSession>> open(CallContext& context,
                                                       const v1::OpenSessionRequest& request) {
    const auto caller = SLUICE_TRY(handlers_.caller_of(context, terms::Role::kAny));
    SLUICE_TRY(wire::inflate(request));
    return handlers_.service().open_session(request.client(), caller.peer);
  }

  Handlers& handlers_;
  const std::shared_ptr<Ending> ending_;
  std::shared_ptr<service::ClientSession> session_;
  v1::OpenSessionResponse response_;
};

}  // namespace

void Handlers::OpenSession(Context* context, const v1::OpenSessionRequest* request) {
  new SessionCall(*this, *context, *request);
}

}  // namespace sluice::rpc::server
