// A stream of inferences: many requests of one client on one call, whatever their messages.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/no_memory.h"
#include "completions/text_starter.h"
#include "rpc/server/calls/handlers.h"
#include "rpc/wire/error.h"
#include "service/clients/peer.h"

namespace sluice::rpc::server {

/// Bytes that the outputs of a signature take in a message, as far as their shapes are static.
std::int64_t least_answer_bytes(const terms::Signature& signature);

/// What a message of a stream asks for.
enum class StreamAsk : std::uint8_t { kRequest, kCancel, kNothing };

/// Bytes that the answers of a text take which wait to be sent.
inline constexpr std::int64_t kTextAnswerBytes = std::int64_t{64} << 10;
/// Answers of a text that wait to be sent. The text pauses there until they are sent.
inline constexpr int kMostUnsentPieces = 32;

/// Requests of one client, answered as they finish; those for texts have an answer for each piece.
/// A request is *held* from reading its message until sending its reply. At the limit of held
/// requests, or of bytes of answers, the call reads at most one more message and parks it, so a
/// client within the limits can always cancel. The bytes of an answer are charged before its
/// request is computed, as far as they are known: those of static outputs, and the largest answer
/// so far. So a client that does not read stops its own models.
///
///     reading --(limit)--> parked --(an answer was sent)--> reading
///        |
///        +--the client has sent all--> no request is left --> finished (OK)
///        +--the call broke, or what came is against the rules--> all cancelled --> finished
///
/// Reactions keep the object alive, and so does every request that is counted in
/// `num_unanswered_`. The thread that counts the last one down decides under the same lock whether
/// the call is finished, and touches nothing of the object afterwards.
///
/// Lock order: `mutex_`, then that of the call's queue. `flights_` and the service are called
/// without `mutex_`, because they answer requests on the calling thread.
///
/// `Protocol` has the messages, Request and Response, and what depends on them:
///
///     Result<StreamAsk> ask_of(const Request&)    an error ends the stream
///     std::uint64_t id_of(const Request&)     the client's, or numbers of its own
///     Result<std::shared_ptr<dispatch::ModelRef>> find_model(service, caller, Request&)
///     telemetry::Origin origin_of(const Request&)   the door, and its traceparent if it has one
///     struct Work                             the memory that a request reads and writes
///     Result<runtime::Request> open(service, caller, const dispatch::ModelRef&, Work&)
///     Status write(const runtime::Reply&, const dispatch::ModelRef&, limit_bytes, ByteCharge&,
///                  Work&, Response&)
///     void write_error(const Status& or ErrorList&, const Request&, Response&)
///
/// and, if it has the struct `Texts`, what texts need:
///
///     bool asks_for_text(const dispatch::ModelRef&, const Request&)
///     Result<std::string> text_body(const service::Caller&, Work&)   as GenerateCall::body
///     bool write_piece(const std::string&, const dispatch::ModelRef&, Work&, Response&)
///                                                 false: the piece waits for the end
///     void write_end(const dispatch::ModelRef&, Work&, Response&)
template <typename Protocol>
class StreamCall final : public Reactor {
 public:
  StreamCall(Handlers& handlers, CallContext& context)
      : Reactor(context),
        service_(handlers.service()),
        texts_(handlers.texts()),
        max_held_(service_.options().stream_requests),
        max_held_bytes_(service_.options().stream_answer_bytes),
        max_answer_bytes_(handlers.max_answer_bytes()) {
    traceparent_ = context.metadata("traceparent");
    tracestate_ = context.metadata("tracestate");
    request_id_ = context.metadata("x-request-id");
    auto caller = handlers.caller_of(context, terms::Role::kInference);
    if (!caller.is_ok()) {
      is_finished_ = true;  // a cancel comes to a finished call, too
      finish(wire::to_grpc(caller.status()));
      return;
    }
    caller_ = std::move(*caller);
    answer_bytes_ = std::make_shared<ByteBudget>(max_held_bytes_, caller_.session->answers());
    read_next();
  }

  void on_read_done(bool is_ok) override {
    if (is_ok) {
      take(std::exchange(message_, nullptr));
      return;
    }
    std::unique_lock lock(mutex_);
    has_read_all_ = true;
    go_on(lock);
  }

  void on_write_done(bool is_ok) override {
    Message parked;
    std::shared_ptr<completions::StartedText> resumed;
    {
      const std::lock_guard lock(mutex_);
      is_writing_ = false;
      const std::shared_ptr<Work> piece_of = writing_.piece_of;
      writing_ = {};
      if (piece_of == nullptr) {
        --num_held_;
        std::swap(parked, parked_);
      } else if (--piece_of->num_unsent == 0 && std::exchange(piece_of->is_paused, false)) {
        resumed = piece_of->text;
      }
    }
    if (resumed != nullptr) resumed->resume();
    if (!is_ok) end(make_error(Code::kCancelled, "the client is gone"));
    if (parked != nullptr) take(std::move(parked));
    std::unique_lock lock(mutex_);
    go_on(lock);
  }

  void on_cancel() override {
    end(make_error(Code::kCancelled, "the client ended it, or is gone"));
  }
  void on_done() override { delete this; }

 private:
  using Request = typename Protocol::Request;
  using Response = typename Protocol::Response;
  using Message = std::shared_ptr<Request>;
  struct Work;
  struct Answer {
    std::unique_ptr<Response> message;
    ByteCharge charge;
    std::shared_ptr<telemetry::Observation> observation = {};  ///< ends when it was sent
    std::shared_ptr<Work> piece_of = {};  ///< others of this request follow; null: none does
    bool is_of_text = false;
  };
  struct Work : Protocol::Work {  ///< with the request's `message`
    std::uint64_t id = 0;
    std::shared_ptr<dispatch::ModelRef> model;
    ByteCharge charge;  ///< of the answer to come
    std::shared_ptr<telemetry::Observation> observation;
    std::shared_ptr<completions::StartedText> text;  ///< null: it asks for no text
    int num_unsent = 0;  ///< pieces of it; guarded by mutex_, as the next
    bool is_paused = false;
  };

  /// Brings a text to the call, which lives until its end.
  class TextAnswers final : public completions::TextSink {
   public:
    TextAnswers(StreamCall& call, std::shared_ptr<Work> work)
        : call_(call), work_(std::move(work)) {}
    bool take(const completions::Piece& piece) override {
      return call_.send_piece(work_, piece.text);
    }
    void end(const completions::Ending& ending) override { call_.end_text(*work_, ending.status); }

   private:
    StreamCall& call_;
    const std::shared_ptr<Work> work_;
  };

  void read_next() {
    message_ = std::make_shared<Request>();
    const std::lock_guard lock(mutex_);  // a finished call reads no more messages
    if (verdict_.is_ok()) start_read(*message_);
  }

  // ---- what came

  void take(Message message) {
    const auto ask = catch_no_memory([&] { return protocol_.ask_of(*message); });
    if (!ask.is_ok()) return end(ask.status());
    switch (*ask) {
      case StreamAsk::kCancel: flights_.cancel(protocol_.id_of(*message)); break;
      case StreamAsk::kRequest:
        if (!take_request(std::move(message))) return;
        break;
      case StreamAsk::kNothing:
        end(terms::runtime_error(RuntimeCode::kInvalid,
                                 "message {}: neither a request nor a cancel",
                                 protocol_.id_of(*message)));
        return;
    }
    read_next();
  }

  /// Whether to read on.
  bool take_request(Message message) {
    auto model = catch_no_memory([&] { return protocol_.find_model(service_, caller_, *message); });
    const bool is_text = model.is_ok() && asks_for_text(**model, *message);
    const std::int64_t known_bytes = is_text         ? kTextAnswerBytes
                                     : model.is_ok() ? least_answer_bytes((*model)->signature())
                                                     : 0;
    Result<ByteCharge> charge = ByteCharge();
    {
      const std::lock_guard lock(mutex_);
      if (!verdict_.is_ok()) return false;
      const std::int64_t expected_bytes =
          is_text ? known_bytes : std::max(known_bytes, largest_answer_bytes_);
      charge = charge_for(expected_bytes);
      // The first answer of an unknown size tells what others may take: until then one at a time.
      const bool is_known = expected_bytes > 0 || !model.is_ok();
      const bool has_room = charge.is_ok() && is_known;
      if (num_held_ >= max_held_ || (!has_room && num_held_ > 0)) {
        parked_ = std::move(message);
        return false;
      }
      ++num_held_;
      ++num_unanswered_;
    }
    const std::uint64_t id = protocol_.id_of(*message);
    if (flights_.contains(id)) {
      refuse_duplicate(id);
      return false;
    }
    const auto work = std::make_shared<Work>();
    work->message = std::move(message);
    work->id = id;
    work->observation = observe(*work->message);
    Status taken = model.is_ok() ? charge.status() : model.status();
    if (taken.is_ok()) {
      work->model = std::move(*model);
      work->charge = std::move(*charge);
      taken = catch_no_memory([&] { return is_text ? start_text(work) : submit(work); });
    }
    if (!taken.is_ok()) {
      Answer answer = {std::make_unique<Response>(), {}, work->observation};
      protocol_.write_error(telemetry::failed(work->observation, taken), *work->message,
                            *answer.message);
      send(std::move(answer));
    }
    return true;
  }

  /// The call's own trace and id are those of requests that bring none.
  std::shared_ptr<telemetry::Observation> observe(const Request& message) const {
    telemetry::Origin origin = protocol_.origin_of(message);
    if (origin.traceparent.empty()) {
      origin.traceparent = traceparent_;
      origin.tracestate = tracestate_;
    }
    origin.request_id = request_id_;
    auto observation = service_.telemetry().begin(origin);
    if (observation != nullptr) observation->set_user(service::account_of(caller_.peer));
    return observation;
  }

  /// Room for an answer. One that is larger than the stream's limit has room once no other is held.
  /// Requires: mutex_ is held.
  Result<ByteCharge> charge_for(std::int64_t bytes) {
    if (num_held_ == 0) return ByteCharge::take(caller_.session->answers(), bytes);
    return ByteCharge::take(answer_bytes_, bytes);
  }

  void refuse_duplicate(std::uint64_t id) {
    {
      const std::lock_guard lock(mutex_);
      --num_held_;
      --num_unanswered_;
    }
    end(terms::runtime_error(RuntimeCode::kInvalid,
                             "request {}: another one with this id is in flight; give each its own",
                             id));
  }

  Status submit(const std::shared_ptr<Work>& work) {
    runtime::Request request = SLUICE_TRY(protocol_.open(service_, caller_, *work->model, *work));
    request.exchange_owner = static_cast<std::uint64_t>(caller_.session->owner());
    request.on_done = [this, work](const runtime::Reply& reply) { send(answer_of(reply, *work)); };
    request.memory_owner = work;
    // Never computed here: a stream keeps many requests in flight, and this thread reads them.
    const auto flight = flights_.enter(work->id, work->model, false, work->observation);
    SLUICE_TRY(flights_.post(flight, request, service_.limits_of(caller_)));
    if (is_over()) flight->cancel();  // `end` may have come before `enter`
    return ok_status();
  }

  bool is_over() {
    const std::lock_guard lock(mutex_);
    return !verdict_.is_ok();
  }

  // ---- texts

  bool asks_for_text(const dispatch::ModelRef& model, const Request& message) const {
    if constexpr (requires { typename Protocol::Texts; }) {
      return texts_ != nullptr && Protocol::asks_for_text(model, message);
    }
    return false;
  }

  Status start_text(const std::shared_ptr<Work>& work) {
    if constexpr (requires { typename Protocol::Texts; }) {
      std::string body = SLUICE_TRY(protocol_.text_body(caller_, *work));
      if (work->observation != nullptr) {
        work->observation->set_model(work->model->name(), work->model->version());
      }
      work->text = std::make_shared<completions::StartedText>();
      const std::shared_ptr<completions::StartedText> text = work->text;
      {
        const std::lock_guard lock(mutex_);
        std::erase_if(started_, [](const auto& one) { return one.expired(); });
        started_.push_back(text);
        if (!verdict_.is_ok()) return verdict_;  // `end` has cancelled the others
      }
      texts_->start_text({work->model, service::account_of(caller_.peer),
                          service_.limits_of(caller_), std::move(body)},
                         text, std::make_shared<TextAnswers>(*this, work));
    }
    return ok_status();
  }

  /// False: enough waits.
  bool send_piece(const std::shared_ptr<Work>& work, const std::string& text) {
    if constexpr (requires { typename Protocol::Texts; }) {
      Answer answer = {std::make_unique<Response>(), {}, {}, work};
      if (!Protocol::write_piece(text, *work->model, *work, *answer.message)) return true;
      std::unique_lock lock(mutex_);
      if (!verdict_.is_ok()) return true;  // it is being cancelled
      answers_.push_back(std::move(answer));
      const bool has_room = ++work->num_unsent < kMostUnsentPieces;
      work->is_paused = !has_room;
      go_on(lock);
      return has_room;
    }
    return true;
  }

  void end_text(Work& work, const Status& status) {
    if constexpr (requires { typename Protocol::Texts; }) {
      Answer answer = {std::make_unique<Response>(), {}, work.observation};
      if (status.is_ok()) {
        Protocol::write_end(*work.model, work, *answer.message);
      } else {
        Protocol::write_error(telemetry::failed(work.observation, status), *work.message,
                              *answer.message);
      }
      answer.charge = std::move(work.charge);
      answer.is_of_text = true;
      work.observation = nullptr;
      send(std::move(answer));
    }
  }

  std::vector<std::shared_ptr<completions::StartedText>> started() {
    std::vector<std::shared_ptr<completions::StartedText>> texts;
    const std::lock_guard lock(mutex_);
    for (const auto& one : started_) texts.push_back(one.lock());
    std::erase(texts, nullptr);
    return texts;
  }

  /// Nothing of the answer stays in `work`, which a shadow or a device may keep for longer.
  Answer answer_of(const runtime::Reply& reply, Work& work) const {
    Answer answer = {std::make_unique<Response>(), std::move(work.charge),
                     std::move(work.observation)};
    if (reply.code != RuntimeCode::kOk && reply.outputs.empty()) {
      protocol_.write_error(reply.errors, *work.message, *answer.message);
      return answer;
    }
    const Status status = protocol_.write(reply, *work.model, max_answer_bytes_, answer.charge,
                                          work, *answer.message);
    if (!status.is_ok()) {
      protocol_.write_error(telemetry::failed(answer.observation, status), *work.message,
                            *answer.message);
    }
    return answer;
  }

  // ---- what goes

  /// Queues the answer of a request, whose id may be used again.
  void send(Answer answer) {
    std::unique_lock lock(mutex_);
    --num_unanswered_;
    if (!answer.is_of_text) {
      largest_answer_bytes_ = std::max(largest_answer_bytes_, answer.charge.bytes());
    }
    answers_.push_back(std::move(answer));
    go_on(lock);
  }

  /// Everything is cancelled, and the call has this status. From a reaction.
  void end(const Status& verdict) {
    {
      const std::lock_guard lock(mutex_);
      if (verdict_.is_ok()) verdict_ = verdict;
      answers_.clear();
      parked_ = nullptr;
    }
    flights_.cancel_all();
    for (const auto& text : started()) text->cancel();
    std::unique_lock lock(mutex_);
    go_on(lock);
  }

  /// Sends the next reply, or finishes. Afterwards only a reaction may touch this object.
  void go_on(std::unique_lock<std::mutex>& lock) {
    if (is_writing_ || is_finished_) return;
    const bool is_over = !verdict_.is_ok();
    if (!is_over && !answers_.empty()) {
      writing_ = std::move(answers_.front());
      answers_.pop_front();
      is_writing_ = true;
      const auto* answer = writing_.message.get();
      lock.unlock();
      start_write(*answer);
    } else if (num_unanswered_ == 0 && (is_over || has_read_all_)) {
      is_finished_ = true;
      const grpc::Status status = wire::to_grpc(verdict_);
      lock.unlock();
      finish(status);
    }
  }

  service::Service& service_;
  completions::TextStarter* const texts_;  ///< null: no texts are served
  Protocol protocol_;
  const std::int64_t max_held_;
  const std::int64_t max_held_bytes_;
  const std::int64_t max_answer_bytes_;
  service::Caller caller_;
  std::string traceparent_;  ///< of the call's metadata, as the two below
  std::string tracestate_;
  std::string request_id_;
  Message message_;                ///< being read
  dispatch::FlightTable flights_;  ///< by the client's id
  std::mutex mutex_;
  std::int64_t num_held_ = 0;
  std::int64_t num_unanswered_ = 0;
  std::int64_t largest_answer_bytes_ = 0;
  std::shared_ptr<ByteBudget> answer_bytes_;  ///< of the stream, below the session's
  std::vector<std::weak_ptr<completions::StartedText>> started_;
  Message parked_;
  std::deque<Answer> answers_;
  Answer writing_;
  bool is_writing_ = false;
  bool has_read_all_ = false;
  bool is_finished_ = false;
  Status verdict_;  ///< not ok: why the call ends before its time
};

}  // namespace sluice::rpc::server
