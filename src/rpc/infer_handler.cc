#include <chrono>

#include "rpc/convert.h"
#include "rpc/error.h"
#include "rpc/handlers.h"
#include "rpc/placed_request.h"
#include "rpc/submission.h"

namespace sluice::rpc {
namespace {

/// On the engine's clock, which may be a simulation's.
std::int64_t deadline_of(const grpc::CallbackServerContext& context, const Clock& clock) {
  using std::chrono::system_clock;
  const system_clock::time_point deadline = context.deadline();
  if (deadline == system_clock::time_point::max()) return kNoDeadline;
  const auto left =
      std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - system_clock::now());
  const std::int64_t now_ns = clock.now_ns();
  return left.count() > kNoDeadline - now_ns ? kNoDeadline : now_ns + left.count();
}

class InferCall final : public grpc::ServerUnaryReactor {
 public:
  explicit InferCall(std::shared_ptr<InferMessages> messages)
      : messages_(std::move(messages)), submitted_(std::make_shared<Submission>()) {}

  void start(Handlers& handlers, const grpc::CallbackServerContext& context) {
    const auto submitted = submitted_;  // the call may be done, and this gone, before we return
    const std::uint64_t model = messages_->request.model();
    const bool is_inline = handlers.inline_work().enter(model) &&
                           !handlers.service().runs_elsewhere(runtime::ModelHandle(model));
    const auto id = submit(handlers, context, is_inline);
    if (!id.is_ok()) {
      handlers.inline_work().leave();
      Finish(to_grpc(id.status()));
      return;
    }
    submitted->set_id(*id);
    if (is_inline) submitted->wait_until_answered();
  }

  void OnCancel() override { submitted_->cancel(); }
  void OnDone() override { delete this; }

 private:
  Result<std::uint64_t> submit(Handlers& handlers, const grpc::CallbackServerContext& context,
                               bool is_inline) {
    const auto caller = SLUICE_TRY(handlers.caller_of(context));
    const v1::InferRequest& wanted = messages_->request;
    const auto sink =
        SLUICE_TRY(handlers.service().find_model(caller, runtime::ModelHandle(wanted.model())));
    submitted_->set_sink(sink);
    runtime::Request request;
    request.inputs = SLUICE_TRY(
        open_request(handlers.service(), caller, wanted, sink->signature(), messages_->placed));
    request.memory_owner = messages_;
    request.deadline_ns = deadline_of(context, sink->clock());
    request.priority = wanted.priority();
    request.wants_detail = wanted.wants_detail();
    request.will_wait = is_inline;
    const std::int64_t start_ns = sink->clock().now_ns();
    // The call is gone once it is answered; the handlers outlive all requests.
    request.on_done = [this, &handlers, submitted = submitted_, start_ns,
                       model = wanted.model()](const runtime::Reply& reply) {
      handlers.inline_work().learn(model, submitted->sink().clock().now_ns() - start_ns);
      handlers.inline_work().leave();
      answer(reply);
      submitted->set_answered();
    };
    return handlers.service().submit(caller, *sink, request);
  }

  void answer(const runtime::Reply& reply) {
    if (reply.code != runtime::RuntimeCode::kOk && reply.outputs.empty()) {
      Finish(to_grpc(reply.errors));
      return;
    }
    Finish(to_grpc(write_answer(reply, submitted_->sink().signature(),
                                messages_->request.wants_detail(), messages_->placed,
                                messages_->response)));
  }

  const std::shared_ptr<InferMessages> messages_;
  const std::shared_ptr<Submission> submitted_;
};

}  // namespace

grpc::ServerUnaryReactor* infer(Handlers& handlers, grpc::CallbackServerContext& context,
                                const v1::InferRequest& /*request*/) {
  // The allocator of this call's messages made the holder.
  const auto* holder = static_cast<InferHolder*>(context.GetRpcAllocatorState());
  auto* call = new InferCall(holder->messages());
  call->start(handlers, context);
  return call;
}

}  // namespace sluice::rpc
