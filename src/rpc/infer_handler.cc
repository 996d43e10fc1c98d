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
  std::atomic<bool> is_done = false;

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

/// By signature index, as far as there are any.
Result<std::vector<service::PlacedOutput>> open_outputs(const v1::InferRequest& wanted,
                                                        const package::Signature& signature,
                                                        const service::Session& session) {
  std::vector<service::PlacedOutput> outputs;
  if (wanted.output_places().empty()) return outputs;
  outputs.resize(signature.outputs.size());
  for (const v1::OutputPlace& from : wanted.output_places()) {
    const auto it = std::ranges::find(signature.outputs, from.name(), &package::TensorSpec::name);
    if (it == signature.outputs.end()) {
      return runtime_error(runtime::RuntimeCode::kBadInput, "the model has no output \"{}\"",
                           from.name().substr(0, 200));
    }
    outputs[static_cast<std::size_t>(it - signature.outputs.begin())] =
        SLUICE_TRY(service::open_output(session, from_proto(from.place())).with_context(it->name));
  }
  return outputs;
}

class InferCall final : public grpc::ServerUnaryReactor {
 public:
  explicit InferCall(std::shared_ptr<InferMessages> messages)
      : messages_(std::move(messages)), submitted_(std::make_shared<Submitted>()) {}

  void start(Handlers& handlers, const grpc::CallbackServerContext& context) {
    const auto submitted = submitted_;  // the call may be done, and this gone, before we return
    const std::uint64_t model = messages_->request.model();
    const bool is_inline = handlers.inline_work().enter(model);
    const auto id = submit(handlers, context, is_inline);
    if (!id.is_ok()) {
      handlers.inline_work().leave();
      Finish(to_grpc(id.status()));
      return;
    }
    submitted->id.store(*id);
    submitted->has_id.store(true);
    submitted->cancel_if_both();
    if (is_inline) submitted->sink->wait([&] { return submitted->is_done.load(); }, kNoDeadline);
  }

  void OnCancel() override {
    submitted_->is_cancelled.store(true);
    submitted_->cancel_if_both();
  }
  void OnDone() override { delete this; }

 private:
  Result<std::uint64_t> submit(Handlers& handlers, const grpc::CallbackServerContext& context,
                               bool is_inline) {
    const auto caller = SLUICE_TRY(handlers.caller_of(context));
    const v1::InferRequest& wanted = messages_->request;
    const auto sink =
        SLUICE_TRY(handlers.service().find_model(caller, runtime::ModelHandle(wanted.model())));
    submitted_->sink = sink;
    runtime::Request request;
    const auto in_place = handlers.service().in_place_inputs(runtime::ModelHandle(wanted.model()));
    const auto open = [&](std::size_t i, const service::Place& place) -> Result<void*> {
      const bool stays = in_place != nullptr && i < in_place->size() && (*in_place)[i];
      auto input = SLUICE_TRY(service::open_input(*caller.session, place, stays));
      messages_->owners.push_back(std::move(input.owner));
      return input.data;
    };
    request.inputs = SLUICE_TRY(inputs_of(wanted, sink->signature(), open));
    messages_->outputs = SLUICE_TRY(open_outputs(wanted, sink->signature(), *caller.session));
    request.memory_owner = messages_;
    request.deadline_ns = deadline_of(context, sink->clock());
    request.priority = wanted.priority();
    request.wants_detail = wanted.wants_detail();
    request.will_wait = is_inline;
    const std::int64_t start_ns = sink->clock().now_ns();
    // The call is gone once it is answered; the handlers outlive all requests.
    request.on_done = [this, &handlers, submitted = submitted_, start_ns,
                       model = wanted.model()](const runtime::Reply& reply) {
      handlers.inline_work().learn(model, submitted->sink->clock().now_ns() - start_ns);
      handlers.inline_work().leave();
      answer(reply);
      submitted->is_done.store(true);
    };
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
      const Status status = put(i, reply.outputs[i].view, specs[i].name, *response.add_outputs());
      if (!status.is_ok()) return Finish(to_grpc(status));
    }
    if (messages_->request.wants_detail()) to_proto(reply.detail, *response.mutable_detail());
    Finish(grpc::Status::OK);
  }

  /// Into the answer, or where the client wants it.
  Status put(std::size_t i, const exec::TensorView& view, const std::string& name, v1::Tensor& to) {
    if (i >= messages_->outputs.size() || messages_->outputs[i].region == nullptr) {
      to_proto(view, name, to);
      return ok_status();
    }
    const service::PlacedOutput& placed = messages_->outputs[i];
    SLUICE_TRY(service::store(placed, view, name));
    exec::TensorView without_bytes = view;
    without_bytes.size_bytes = 0;
    to_proto(without_bytes, name, to);
    service::Place place = placed.place;
    place.size_bytes = static_cast<std::uint64_t>(view.size_bytes);
    to_proto(place, *to.mutable_place());
    return ok_status();
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
