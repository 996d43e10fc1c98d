#include <algorithm>
#include <atomic>
#include <chrono>

#include "rpc/convert.h"
#include "rpc/error.h"
#include "rpc/handlers.h"

namespace sluice::rpc {
namespace {

/// The request where it is being worked on, shared by the call and whoever cancels it.
struct Submitted {
  std::shared_ptr<runtime::RequestSink> sink;
  std::atomic<std::uint64_t> id = 0;
  std::atomic<bool> has_id = false;
  std::atomic<bool> is_cancelled = false;

  /// Both sides call it after they stored theirs: one of them sees both.
  void cancel_if_both() {
    if (has_id.load() && is_cancelled.load()) sink->cancel(id.load());
  }
};

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
      : messages_(std::move(messages)), submitted_(std::make_shared<Submitted>()) {}

  void start(Handlers& handlers, const grpc::CallbackServerContext& context) {
    const auto submitted = submitted_;  // the call may be done, and this gone, before we return
    const auto id = submit(handlers, context);
    if (!id.is_ok()) {
      Finish(to_grpc(id.status()));
      return;
    }
    submitted->id.store(*id);
    submitted->has_id.store(true);
    submitted->cancel_if_both();
  }

  void OnCancel() override {
    submitted_->is_cancelled.store(true);
    submitted_->cancel_if_both();
  }
  void OnDone() override { delete this; }

 private:
  Result<std::uint64_t> submit(Handlers& handlers, const grpc::CallbackServerContext& context) {
    const auto caller = SLUICE_TRY(handlers.caller_of(context));
    const v1::InferRequest& wanted = messages_->request;
    const auto sink =
        SLUICE_TRY(handlers.service().find_model(caller, runtime::ModelHandle(wanted.model())));
    submitted_->sink = sink;
    runtime::Request request;
    request.inputs = SLUICE_TRY(inputs_of(wanted, sink->signature()));
    request.memory_owner = messages_;
    request.deadline_ns = deadline_of(context, sink->clock());
    request.priority = wanted.priority();
    request.wants_detail = wanted.wants_detail();
    request.on_done = [this](const runtime::Reply& reply) { answer(reply); };
    return handlers.service().submit(caller, *sink, request);
  }

  void answer(const runtime::Reply& reply) {
    if (reply.code != runtime::RuntimeCode::kOk && reply.outputs.empty()) {
      Finish(to_grpc(reply.errors));
      return;
    }
    v1::InferResponse& response = messages_->response;
    response.set_runtime_code(static_cast<std::int32_t>(reply.code));
    const auto& specs = submitted_->sink->signature().outputs;
    for (std::size_t i = 0; i < reply.outputs.size(); ++i) {
      to_proto(reply.outputs[i].view, specs[i].name, *response.add_outputs());
    }
    if (messages_->request.wants_detail()) to_proto(reply.detail, *response.mutable_detail());
    Finish(grpc::Status::OK);
  }

  const std::shared_ptr<InferMessages> messages_;
  const std::shared_ptr<Submitted> submitted_;
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
