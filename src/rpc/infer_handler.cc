#include <chrono>
#include <functional>

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

grpc::Status status_of(const runtime::Reply& reply, const package::Signature& signature,
                       InferMessages& messages) {
  if (reply.code != runtime::RuntimeCode::kOk && reply.outputs.empty()) {
    return to_grpc(reply.errors);
  }
  return to_grpc(write_answer(reply, signature, messages.request.wants_detail(), messages.placed,
                              messages.response));
}

using Answer = std::function<void(const grpc::Status&)>;

/// `answer` is called once the request was taken: perhaps before this returns, on any thread.
Result<std::uint64_t> submit(Handlers& handlers, const grpc::CallbackServerContext& context,
                             const std::shared_ptr<InferMessages>& messages,
                             const std::shared_ptr<Submission>& submitted, bool is_inline,
                             Answer answer) {
  const auto caller = SLUICE_TRY(handlers.caller_of(context));
  const v1::InferRequest& wanted = messages->request;
  const auto sink =
      SLUICE_TRY(handlers.service().find_model(caller, runtime::ModelHandle(wanted.model())));
  submitted->set_sink(sink);
  runtime::Request request;
  request.inputs = SLUICE_TRY(
      open_request(handlers.service(), caller, wanted, sink->signature(), messages->placed));
  request.memory_owner = messages;
  request.deadline_ns = deadline_of(context, sink->clock());
  request.priority = wanted.priority();
  request.wants_detail = wanted.wants_detail();
  request.will_wait = is_inline;
  const std::int64_t start_ns = sink->clock().now_ns();
  // The call may be gone once it is answered; the handlers outlive all requests.
  request.on_done = [messages, &handlers, submitted, start_ns,
                     answer = std::move(answer)](const runtime::Reply& reply) {
    const runtime::RequestSink& taker = submitted->sink();
    handlers.inline_work().learn(messages->request.model(), taker.clock().now_ns() - start_ns);
    handlers.inline_work().leave();
    answer(status_of(reply, taker.signature(), *messages));
    submitted->set_answered();
  };
  return handlers.service().submit(caller, *sink, request);
}

/// Computes it on this thread; it is answered when this returns.
grpc::Status infer_here(Handlers& handlers, const grpc::CallbackServerContext& context,
                        const std::shared_ptr<InferMessages>& messages) {
  grpc::Status result;
  const auto submitted = std::make_shared<Submission>();
  const auto id = submit(handlers, context, messages, submitted, true,
                         [&result](const grpc::Status& status) { result = status; });
  if (!id.is_ok()) {
    handlers.inline_work().leave();
    return to_grpc(id.status());
  }
  submitted->wait_until_answered();
  return result;
}

/// One that is computed elsewhere, and may be cancelled meanwhile.
class InferCall final : public grpc::ServerUnaryReactor {
 public:
  void start(Handlers& handlers, const grpc::CallbackServerContext& context,
             const std::shared_ptr<InferMessages>& messages) {
    const auto submitted = submitted_;  // the call may be done, and this gone, before we return
    const auto id = submit(handlers, context, messages, submitted, false,
                           [this](const grpc::Status& status) { Finish(status); });
    if (!id.is_ok()) {
      handlers.inline_work().leave();
      Finish(to_grpc(id.status()));
      return;
    }
    submitted->set_id(*id);
  }

  void OnCancel() override { submitted_->cancel(); }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<Submission> submitted_ = std::make_shared<Submission>();
};

}  // namespace

grpc::ServerUnaryReactor* infer(Handlers& handlers, grpc::CallbackServerContext& context,
                                const v1::InferRequest& request) {
  // The allocator of this call's messages made the holder.
  const auto* holder = static_cast<InferHolder*>(context.GetRpcAllocatorState());
  const auto& messages = holder->messages();
  if (handlers.inline_work().enter(request.model()) &&
      !handlers.service().runs_elsewhere(runtime::ModelHandle(request.model()))) {
    // gRPC's own reactor needs no thread of its executor's to end the call.
    auto* reactor = context.DefaultReactor();
    reactor->Finish(infer_here(handlers, context, messages));
    return reactor;
  }
  auto* call = new InferCall();
  call->start(handlers, context, messages);
  return call;
}

}  // namespace sluice::rpc
