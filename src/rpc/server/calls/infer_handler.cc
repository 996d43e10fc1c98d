#include <memory>
#include <utility>

#include "base/no_memory.h"
#include "rpc/server/calls/handlers.h"
#include "rpc/server/calls/placed_request.h"
#include "rpc/server/calls/unary_infer.h"
#include "rpc/wire/error.h"

namespace sluice::rpc::server {
namespace {

using Messages = std::shared_ptr<InferMessages>;

/// A message that came compressed is inflated once its sender is known.
Status open_message(Handlers& handlers, CallContext& context, const v1::InferRequest& wanted) {
  if (!wire::is_coded(wanted)) return ok_status();
  SLUICE_TRY(handlers.caller_of(context, terms::Role::kInference));
  return wire::inflate(wanted, wire::max_inflated_bytes());
}

/// `messages` own what the request reads.
Result<runtime::Request> request_of(Handlers& handlers, CallContext& context,
                                    const service::Admission& admission, const Messages& messages) {
  const v1::InferRequest& wanted = messages->request;
  const dispatch::ModelRef& model = *admission.model;
  runtime::Request request;
  SLUICE_TRY(open_request(handlers.service(), *admission.caller.session, wanted, model,
                          messages->placed, request));
  request.memory_owner = messages;
  request.deadline_ns = deadline_of(context, model.clock());
  request.priority = wanted.priority();
  request.wants_detail = wanted.wants_detail();
  request.exchange_owner = static_cast<std::uint64_t>(admission.caller.session->owner());
  return request;
}

/// Fills a response. `charge` is the session's.
grpc::Status answer(const runtime::Reply& reply, const dispatch::ModelRef& model,
                    std::int64_t limit_bytes, const InferMessages& messages, ByteCharge& charge,
                    v1::InferResponse& response) {
  if (reply.code != RuntimeCode::kOk && reply.outputs.empty()) {
    return wire::to_grpc(reply.errors);
  }
  return wire::to_grpc(write_answer(reply, model.signature(), messages.request.wants_detail(),
                                    messages.placed, limit_bytes, charge, response));
}

/// The reply of a posted request.
struct PostedReply {
  v1::InferResponse response;
  ByteCharge charge;
  grpc::Status status;
};

/// The call ends with the request's id.
Status post(const Handlers& handlers, const service::Admission& admission,
            runtime::Request& request, const Messages& messages) {
  const auto& session = admission.caller.session;
  const auto posted = std::make_shared<PostedReply>();
  AnswerCall write = observed(
      [messages, posted, model = admission.model,
       limit_bytes = handlers.max_answer_bytes()](const runtime::Reply& reply) {
        return answer(reply, *model, limit_bytes, *messages, posted->charge, posted->response);
      },
      admission);
  if (session->id() == terms::kNobody) {
    return terms::runtime_error(RuntimeCode::kFailed,
                                "a posted request belongs to a session: open one");
  }
  posted->charge = SLUICE_TRY(ByteCharge::take(session->answers(), 0));
  request.deadline_ns = kNoDeadline;  // the call's is not the request's
  request.limit(admission.model->clock(), messages->request.timeout_ns());
  request.on_done = [posted, write = std::move(write)](const runtime::Reply& reply) {
    posted->status = write(reply);
  };
  const std::uint64_t id = SLUICE_TRY(session->posted().post(admission.model, admission.observation,
                                                             request, admission.limits, posted));
  messages->response.set_request(id);
  return ok_status();
}

/// A call that waits for the reply of a posted request.
class TakeCall final : public Reactor {
 public:
  TakeCall(CallContext& context, std::shared_ptr<service::ClientSession> session, std::uint64_t id,
           v1::InferResponse& response)
      : Reactor(context), session_(std::move(session)), id_(id), response_(response) {}

  /// For `wait_ns`, 0 without limit. The daemon ends the wait, not the call's deadline, which could
  /// pass while the reply is on its way.
  void wait(std::int64_t wait_ns) {
    if (context().is_cancelled()) return end();
    session_->posted().await(id_, this, [this] { end(); });
    const bool is_limited = wait_ns > 0 && deadline_after(system_clock(), wait_ns) != kNoDeadline;
    if (is_limited) start_timer(wait_ns);
  }
  void end() {
    // The reply stays for the next call.
    if (context().is_cancelled()) return finish(grpc::Status::CANCELLED);
    const auto taken = session_->posted().take(id_);
    if (!taken.is_ok()) return finish(wire::to_grpc(taken.status()));
    reply_ = std::static_pointer_cast<PostedReply>(*taken);
    response_.Swap(&reply_->response);
    finish(reply_->status);
  }

  void on_time() override { session_->posted().leave(id_, this); }
  void on_cancel() override { session_->posted().leave(id_, this); }
  void on_done() override {
    if (reply_ != nullptr && context().is_cancelled()) {
      // The client went while the reply was on its way.
      response_.Swap(&reply_->response);
      session_->posted().put_back(id_, std::move(reply_));
    } else if (reply_ != nullptr) {
      session_->posted().delivered(id_);
    }
    delete this;
  }

 private:
  const std::shared_ptr<service::ClientSession> session_;
  const std::uint64_t id_;
  v1::InferResponse& response_;
  std::shared_ptr<PostedReply> reply_;  ///< its bytes are charged until the call is done
};

}  // namespace

void Handlers::Infer(Context* context, const std::shared_ptr<InferMessages>& messages) {
  const v1::InferRequest& wanted = messages->request;
  const Status opened = catch_no_memory([&] { return open_message(*this, *context, wanted); });
  const auto observation = observe(
      *context,
      {.door = "grpc", .traceparent = wanted.traceparent(), .tracestate = wanted.tracestate()});
  if (!opened.is_ok()) return refuse(*context, observation, opened);
  auto admission = admit(*context, terms::ModelHandle(wanted.model()));
  if (!admission.is_ok()) return refuse(*context, observation, admission.status());
  admission->observation = observation;
  auto charge = ByteCharge::take(admission->caller.session->answers(), 0);
  if (!charge.is_ok()) return refuse(*context, observation, charge.status());
  messages->charge = std::move(*charge);
  auto request = catch_no_memory([&] { return request_of(*this, *context, *admission, messages); });
  if (!request.is_ok()) return refuse(*context, observation, request.status());
  if (wanted.is_posted()) {
    const Status posted =
        catch_no_memory([&] { return post(*this, *admission, *request, messages); });
    return posted.is_ok() ? context->finish(grpc::Status::OK)
                          : refuse(*context, observation, posted);
  }
  return infer_unary(*this, *context, *admission, *request,
                     [messages, model = admission->model,
                      limit_bytes = max_answer_bytes_](const runtime::Reply& reply) {
                       return answer(reply, *model, limit_bytes, *messages, messages->charge,
                                     messages->response);
                     });
}

void Handlers::TakeReply(Context* context, const v1::TakeReplyRequest* request,
                         v1::InferResponse* response) {
  auto caller = caller_of(*context, terms::Role::kInference);
  const Status opened = caller.is_ok() ? wire::inflate(*request) : caller.status();
  if (!opened.is_ok()) return context->finish(wire::to_grpc(opened));
  auto* call = new TakeCall(*context, std::move(caller->session), request->request(), *response);
  if (request->waits()) {
    call->wait(request->wait_ns());
  } else {
    call->end();
  }
}

}  // namespace sluice::rpc::server
