#include <deque>
#include <map>
#include <mutex>

#include "rpc/convert.h"
#include "rpc/error.h"
#include "rpc/handlers.h"
#include "rpc/placed_request.h"
#include "rpc/submission.h"

namespace sluice::rpc {
namespace {

using runtime::RuntimeCode;

/// Requests of one client, answered as they finish. A request is *held* from when it was read until
/// its answer was sent; while as many are held as may be, at most one more is read, and parked, so
/// that a client that keeps to the limit can always cancel.
///
///     reading --(limit)--> parked --(an answer was sent)--> reading
///        |
///        +--the client has sent all--> no request is left --> finished (OK)
///        +--the call broke, or what came is against the rules--> all cancelled --> finished
///
/// Reactions of gRPC keep the object alive; an answer from another thread does so for as long as
/// its request is in `submissions_`. So whoever takes the last one out decides, under the same
/// lock, what is to be done, and touches nothing afterwards.
class StreamCall final
    : public grpc::ServerBidiReactor<v1::InferStreamRequest, v1::InferStreamResponse> {
 public:
  StreamCall(Handlers& handlers, const grpc::CallbackServerContext& context)
      : service_(handlers.service()), most_held_(service_.options().stream_requests) {
    auto caller = handlers.caller_of(context);
    if (!caller.is_ok()) {
      Finish(to_grpc(caller.status()));
      return;
    }
    caller_ = std::move(*caller);
    read_next();
  }

  void OnReadDone(bool is_ok) override {
    if (is_ok) {
      take(std::exchange(message_, nullptr));
      return;
    }
    std::unique_lock lock(mutex_);
    has_read_all_ = true;
    go_on(lock);
  }

  void OnWriteDone(bool is_ok) override {
    Message parked;
    {
      const std::lock_guard lock(mutex_);
      is_writing_ = false;
      writing_ = nullptr;
      --num_held_;
      std::swap(parked, parked_);
    }
    if (!is_ok) end(make_error(Code::kCancelled, "the client is gone"));
    if (parked != nullptr) take(std::move(parked));
    std::unique_lock lock(mutex_);
    go_on(lock);
  }

  void OnCancel() override { end(make_error(Code::kCancelled, "the client ended it, or is gone")); }
  void OnDone() override { delete this; }

 private:
  using Message = std::shared_ptr<v1::InferStreamRequest>;
  using Answer = std::unique_ptr<v1::InferStreamResponse>;
  struct Work {  ///< memory that a request reads, and of where its outputs go
    Message message;
    PlacedTensors placed;
  };

  void read_next() {
    message_ = std::make_shared<v1::InferStreamRequest>();
    const std::lock_guard lock(mutex_);  // nothing is read of a call that is finished
    if (verdict_.is_ok()) StartRead(message_.get());
  }

  // ---- what came

  void take(Message message) {
    switch (message->what_case()) {
      case v1::InferStreamRequest::kCancel: cancel(message->id()); break;
      case v1::InferStreamRequest::kRequest:
        if (!take_request(std::move(message))) return;
        break;
      default:
        end(runtime_error(RuntimeCode::kInvalid, "message {}: neither a request nor a cancel",
                          message->id()));
        return;
    }
    read_next();
  }

  void cancel(std::uint64_t id) {
    std::shared_ptr<Submission> submission;
    {
      const std::lock_guard lock(mutex_);
      const auto it = submissions_.find(id);
      if (it == submissions_.end()) return;
      submission = it->second;
    }
    submission->cancel();
  }

  /// Whether to read on.
  bool take_request(Message message) {
    const std::uint64_t id = message->id();
    const auto submission = std::make_shared<Submission>();
    {
      const std::lock_guard lock(mutex_);
      if (!verdict_.is_ok()) return false;
      if (num_held_ >= most_held_) {
        parked_ = std::move(message);
        return false;
      }
      if (submissions_.try_emplace(id, submission).second) {
        ++num_held_;
      } else {
        message = nullptr;
      }
    }
    if (message == nullptr) {
      end(runtime_error(RuntimeCode::kInvalid,
                        "request {}: another one with this id is in flight; give each its own",
                        id));
      return false;
    }
    const auto taken = submit(message, submission);
    if (taken.is_ok()) {
      submission->set_id(*taken);
    } else {
      auto answer = std::make_unique<v1::InferStreamResponse>();
      to_proto(taken.status(), *answer->mutable_error());
      send(id, std::move(answer));
    }
    return true;
  }

  Result<std::uint64_t> submit(const Message& message,
                               const std::shared_ptr<Submission>& submission) {
    const v1::InferRequest& wanted = message->request();
    const auto sink =
        SLUICE_TRY(service_.find_model(caller_, runtime::ModelHandle(wanted.model())));
    submission->set_sink(sink);
    runtime::Request request;
    const auto work = std::make_shared<Work>(Work{message, {}});
    request.inputs =
        SLUICE_TRY(open_request(service_, caller_, wanted, sink->signature(), work->placed));
    request.memory_owner = work;
    request.deadline_ns = SLUICE_TRY(deadline_of(message->timeout_ns(), sink->clock()));
    request.priority = wanted.priority();
    request.wants_detail = wanted.wants_detail();
    request.on_done = [this, work, submission](const runtime::Reply& reply) {
      send(work->message->id(), answer_of(reply, submission->sink().signature(), *work));
    };
    return service_.submit(caller_, *sink, request);
  }

  static Answer answer_of(const runtime::Reply& reply, const package::Signature& signature,
                          const Work& work) {
    auto answer = std::make_unique<v1::InferStreamResponse>();
    if (reply.code != RuntimeCode::kOk && reply.outputs.empty()) {
      to_proto(reply.errors, *answer->mutable_error());
      return answer;
    }
    const Status status = write_answer(reply, signature, work.message->request().wants_detail(),
                                       work.placed, *answer->mutable_response());
    if (!status.is_ok()) to_proto(status, *answer->mutable_error());
    return answer;
  }

  static Result<std::int64_t> deadline_of(std::int64_t timeout_ns, const Clock& clock) {
    if (timeout_ns < 0) {
      return runtime_error(RuntimeCode::kInvalid, "timeout_ns: {} is negative", timeout_ns);
    }
    const std::int64_t now_ns = clock.now_ns();
    return timeout_ns == 0 || timeout_ns > kNoDeadline - now_ns ? kNoDeadline : now_ns + timeout_ns;
  }

  // ---- what goes

  /// The request is answered: its id may be used again.
  void send(std::uint64_t id, Answer answer) {
    answer->set_id(id);
    std::unique_lock lock(mutex_);
    submissions_.erase(id);
    answers_.push_back(std::move(answer));
    go_on(lock);
  }

  /// Everything is cancelled, and the call has this status. From a reaction.
  void end(const Status& verdict) {
    std::vector<std::shared_ptr<Submission>> in_flight;
    {
      const std::lock_guard lock(mutex_);
      if (verdict_.is_ok()) verdict_ = verdict;
      answers_.clear();
      parked_ = nullptr;
      for (const auto& [id, submission] : submissions_) in_flight.push_back(submission);
    }
    for (const auto& submission : in_flight) submission->cancel();
    std::unique_lock lock(mutex_);
    go_on(lock);
  }

  /// Sends the next answer, or finishes. Nothing of this object may be touched afterwards but by a
  /// reaction.
  void go_on(std::unique_lock<std::mutex>& lock) {
    if (is_writing_ || is_finished_) return;
    const bool is_over = !verdict_.is_ok();
    if (!is_over && !answers_.empty()) {
      writing_ = std::move(answers_.front());
      answers_.pop_front();
      is_writing_ = true;
      const auto* answer = writing_.get();
      lock.unlock();
      StartWrite(answer);
    } else if (submissions_.empty() && (is_over || has_read_all_)) {
      is_finished_ = true;
      const grpc::Status status = to_grpc(verdict_);
      lock.unlock();
      Finish(status);
    }
  }

  service::Service& service_;
  const std::int64_t most_held_;
  service::Caller caller_;
  Message message_;  ///< being read
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Submission>> submissions_;  ///< by the client's id
  std::int64_t num_held_ = 0;
  Message parked_;
  std::deque<Answer> answers_;
  Answer writing_;
  bool is_writing_ = false;
  bool has_read_all_ = false;
  bool is_finished_ = false;
  Status verdict_;  ///< not ok: why the call ends before its time
};

}  // namespace

grpc::ServerBidiReactor<v1::InferStreamRequest, v1::InferStreamResponse>* infer_stream(
    Handlers& handlers, const grpc::CallbackServerContext& context) {
  return new StreamCall(handlers, context);
}

}  // namespace sluice::rpc
