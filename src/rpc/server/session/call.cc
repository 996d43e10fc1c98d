#include "rpc/server/session/call.h"

#include <algorithm>

#include "base/clock.h"
#include "base/no_memory.h"
#include "base/utf8.h"
#include "rpc/server/session/fields.h"
#include "rpc/server/session/session.h"

namespace sluice::rpc::server {
namespace {

using grpc::StatusCode;

/// Beyond kMostHeadBytes the call is refused, beyond this the connection ends.
constexpr std::size_t kHopelessHeadBytes = 4 * Call::kMostHeadBytes;
constexpr std::size_t kMaxShownBytes = 64;

grpc::Status to_status(const Status& status) {
  return {static_cast<StatusCode>(status.code()), status.message()};
}

/// No handler reads these.
bool is_of_wire(std::string_view name) {
  return name.starts_with(':') || name.starts_with("grpc-") || name == "te" || name == "user-agent";
}

std::optional<wire::Coding> find_coding(std::string_view name) {
  if (name == "identity") return wire::Coding::kNone;
  if (name == "gzip") return wire::Coding::kGzip;
  if (name == "deflate") return wire::Coding::kZlib;
  return std::nullopt;
}

}  // namespace

Call::Call(Session& session, StreamId id, const CallSettings& settings, CallQueue& queue)
    : id_(id),
      settings_(settings),
      queue_(queue),
      connection_(session.connection()),
      peer_(session.peer()),
      session_(&session),
      deadline_ns_(kNoDeadline),
      reader_(settings.max_message_bytes, settings.memory) {}

Call::~Call() = default;

// ---- the head

bool Call::take_field(std::string_view name, std::string_view value) {
  head_bytes_ += name.size() + value.size() + http2::kFieldBytes;
  if (head_bytes_ > kHopelessHeadBytes) return false;
  if (head_bytes_ > kMostHeadBytes) return true;
  if (name == ":path") {
    path_ = value;
  } else if (name == ":method") {
    http_method_ = value;
  } else if (name == "content-type") {
    content_type_ = value;
  } else if (name == "grpc-encoding") {
    const auto coding = find_coding(value);
    if (coding) {
      coding_ = *coding;
    } else {
      unknown_coding_ = value;
    }
  } else if (name == "grpc-timeout") {
    const auto timeout_ns = parse_timeout(value);
    has_bad_timeout_ = !timeout_ns.has_value();
    if (timeout_ns) deadline_ns_ = deadline_after(system_clock(), *timeout_ns);
  } else if (!is_of_wire(name)) {
    metadata_.emplace_back(name, value);
  }
  return true;
}

void Call::end_head() {
  if (http_method_ != "POST") return session_->refuse_http(*this, "405");
  if (!content_type_.starts_with("application/grpc")) return session_->refuse_http(*this, "415");
  method_ = settings_.methods.find(path_);
  if (auto fault = find_fault()) return refuse(std::move(*fault));
  if (deadline_ns_ != kNoDeadline) deadline_ = queue_.add(deadline_ns_, {weak_from_this()});
  messages_ = method_->make_messages();
  wanted_ = messages_->request;
  if (wanted_ == nullptr) add(Event::Kind::kStart);
}

std::optional<grpc::Status> Call::find_fault() const {
  if (head_bytes_ > kMostHeadBytes) {
    return grpc::Status(StatusCode::RESOURCE_EXHAUSTED,
                        fmt::format("the call's metadata has more than {} bytes", kMostHeadBytes));
  }
  if (method_ == nullptr) {
    return grpc::Status(StatusCode::UNIMPLEMENTED,
                        "the daemon has no call " + shown(path_, kMaxShownBytes));
  }
  if (!unknown_coding_.empty()) {
    return grpc::Status(StatusCode::UNIMPLEMENTED,
                        fmt::format("grpc-encoding \"{}\": the daemon takes identity, deflate or "
                                    "gzip",
                                    shown(unknown_coding_, kMaxShownBytes)));
  }
  if (has_bad_timeout_) {
    return grpc::Status(StatusCode::INVALID_ARGUMENT, "grpc-timeout is no time");
  }
  return std::nullopt;
}

std::string_view Call::metadata(std::string_view name) const {
  const auto it = std::ranges::find(metadata_, name, &Field::first);
  return it == metadata_.end() ? std::string_view() : std::string_view(it->second);
}

// ---- what comes

void Call::take(std::string_view bytes) {
  if (is_answered_ || is_cancelled_) return session_->let_replace(id_, bytes.size());
  num_held_ += bytes.size();
  if (const Status status = reader_.add(bytes); !status.is_ok()) return refuse(to_status(status));
  deliver();
}

void Call::end_request() {
  has_all_ = true;
  deliver();
}

/// Reads the next message, if one is wanted.
void Call::deliver() {
  if (wanted_ == nullptr || is_cancelled_) return;
  if (session_ != nullptr && num_held_ > 0) {
    session_->let_replace(id_, std::exchange(num_held_, 0));
  }
  const auto next = reader_.next();
  if (!next.is_ok()) return refuse(to_status(next.status()));
  const auto kind = is_started_ ? Event::Kind::kReadDone : Event::Kind::kStart;
  if (next->has_value()) {
    grpc::Status status = read(**next);
    reader_.drop();
    if (!status.ok()) return refuse(std::move(status));
    wanted_ = nullptr;
    return add(kind);
  }
  if (!has_all_) return;
  if (reader_.is_within_message()) {
    return refuse({StatusCode::INTERNAL, "the last message of the call is not whole"});
  }
  if (!is_started_) return refuse({StatusCode::INTERNAL, "the call has no message"});
  wanted_ = nullptr;
  add(kind, false);
}

grpc::Status Call::read(const MessageReader::Message& message) {
  if (message.is_compressed && coding_ == wire::Coding::kNone) {
    return {StatusCode::INTERNAL, "a message is compressed, and the call has no grpc-encoding"};
  }
  const auto coding = message.is_compressed ? coding_ : wire::Coding::kNone;
  grpc::Status status;
  const Status read = catch_no_memory([&] {
    status = wire::read_message(message.bytes, coding, *wanted_);
    return ok_status();
  });
  return read.is_ok() ? status : to_status(read);
}

// ---- what goes

std::size_t Call::num_unsent(std::size_t most) const {
  std::size_t total = 0;
  for (const Outgoing& one : out_) {
    total += one.message.num_unsent();
    if (total >= most) return most;
  }
  return total;
}

void Call::send(std::size_t num, std::string& to) {
  while (num > 0) {
    Outgoing& front = out_.front();
    const std::string_view bytes = front.message.next().substr(0, num);
    to += bytes;
    num -= bytes.size();
    front.message.remove(bytes.size());
    if (front.message.num_unsent() > 0) continue;
    if (!front.is_response) add(Event::Kind::kWriteDone);
    out_.pop_front();
  }
}

std::vector<Call::Field> Call::trailer() const {
  std::vector<Field> fields = trailing_;
  fields.emplace_back("grpc-status", std::to_string(static_cast<int>(status_.error_code())));
  if (!status_.error_message().empty()) {
    fields.emplace_back("grpc-message", percent_encoded(status_.error_message()));
  }
  if (!status_.error_details().empty()) {
    fields.emplace_back("grpc-status-details-bin", base64(status_.error_details()));
  }
  return fields;
}

void Call::add_trailing_metadata(std::string_view name, std::string_view value) {
  trailing_.emplace_back(name, is_binary(name) ? base64(value) : std::string(value));
}

/// The status of the call, whatever its handler makes of it.
void Call::refuse(grpc::Status status) {
  if (is_answered_ || session_ == nullptr) return;
  status_ = std::move(status);
  is_answered_ = true;
  const bool is_within_message = !out_.empty() && out_.front().message.is_begun();
  cancel_work();
  if (is_within_message) {
    session_->reset(id_);  // a status has no place there
  } else {
    session_->send_status(*this);
  }
  settle();
}

// ---- what the handler asks, on any thread

void Call::finish(const grpc::Status& status) {
  Ask ask = {shared_from_this(), Ask::Kind::kFinish};
  ask.status = status;
  if (status.ok() && messages_->response != nullptr) {
    const Status written = catch_no_memory([&] {
      ask.message = OutMessage(*messages_->response);
      return ok_status();
    });
    if (!written.is_ok()) ask.status = to_status(written);
  }
  queue_.ask(std::move(ask));
}

void Call::cancel() { queue_.ask({shared_from_this(), Ask::Kind::kCancel}); }

void Call::start_read(google::protobuf::Message& to) {
  queue_.ask({shared_from_this(), Ask::Kind::kRead, &to});
}

void Call::start_write(OutMessage message) {
  queue_.ask({shared_from_this(), Ask::Kind::kWrite, nullptr, std::move(message)});
}

void Call::start_timer(std::int64_t delay_ns) {
  Ask ask = {shared_from_this(), Ask::Kind::kTimer};
  ask.end_ns = deadline_after(system_clock(), delay_ns);
  queue_.ask(std::move(ask));
}

// ---- on the loop's thread

void Call::carry_out(Ask ask) {
  switch (ask.kind) {
    case Ask::Kind::kRead:
      wanted_ = ask.to;
      if (!is_cancelled_ && !is_finished_) return deliver();
      wanted_ = nullptr;
      return add(Event::Kind::kReadDone, false);
    case Ask::Kind::kWrite: return write(std::move(ask.message));
    case Ask::Kind::kTimer:
      drop(timer_);
      if (!is_finished_) timer_ = queue_.add(ask.end_ns, {weak_from_this(), true});
      return;
    case Ask::Kind::kFinish: return end(std::move(ask));
    case Ask::Kind::kCancel:
      if (session_ == nullptr || is_finished_) return;
      session_->reset(id_);
      cancel_work();
      return settle();
  }
}

void Call::write(OutMessage message) {
  const bool is_too_large = std::cmp_greater(message.size_bytes(), settings_.max_message_bytes);
  if (is_too_large) {
    refuse({StatusCode::RESOURCE_EXHAUSTED,
            fmt::format("Sent message larger than max ({} vs. {})", message.size_bytes(),
                        settings_.max_message_bytes)});
  }
  if (is_answered_ || is_cancelled_ || session_ == nullptr) {
    return add(Event::Kind::kWriteDone, false);
  }
  out_.push_back({std::move(message)});
  session_->send_messages(*this);
}

void Call::end(Ask ask) {
  if (std::exchange(is_finished_, true)) return;
  drop(timer_);
  if (std::exchange(wanted_, nullptr) != nullptr) add(Event::Kind::kReadDone, false);
  const bool has_response = ask.status.ok() && messages_->response != nullptr;
  if (has_response && std::cmp_greater(ask.message.size_bytes(), settings_.max_message_bytes)) {
    ask.status = {StatusCode::RESOURCE_EXHAUSTED,
                  fmt::format("Sent message larger than max ({} vs. {})", ask.message.size_bytes(),
                              settings_.max_message_bytes)};
  }
  if (!is_answered_ && session_ != nullptr) {
    is_answered_ = true;
    status_ = std::move(ask.status);
    if (status_.ok() && has_response) out_.push_back({std::move(ask.message), true});
    session_->send_status(*this);
  }
  settle();
}

void Call::expire(bool is_timer) {
  (is_timer ? timer_ : deadline_) = std::nullopt;
  if (is_timer) return add(Event::Kind::kTime);
  if (!is_answered_) return refuse({StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded"});
  session_->reset(id_);  // the client does not take its answer
  cancel_work();
  settle();
}

void Call::close() {
  is_closed_ = true;
  session_ = nullptr;
  drop(deadline_);
  if (!is_sent_) cancel_work();
  settle();
}

/// Nothing more comes of it.
void Call::cancel_work() {
  if (is_cancelled_.exchange(true)) return;
  const auto num_writes = std::ranges::count(out_, false, &Outgoing::is_response);
  out_.clear();
  if (!is_started_) return;
  if (!is_finished_) add(Event::Kind::kCancel);
  if (std::exchange(wanted_, nullptr) != nullptr) add(Event::Kind::kReadDone, false);
  for (auto i = num_writes; i > 0; --i) add(Event::Kind::kWriteDone, false);
}

void Call::settle() {
  if (!is_started_ || is_done_ || !is_finished_ || !(is_closed_ || is_cancelled_)) return;
  is_done_ = true;
  add(Event::Kind::kDone);
}

void Call::drop(std::optional<CallQueue::Deadline>& deadline) {
  if (deadline) queue_.remove(*std::exchange(deadline, std::nullopt));
}

void Call::count_as_lost(std::shared_ptr<std::size_t> num_lost) {
  num_lost_ = std::move(num_lost);
  ++*num_lost_;
}

void Call::react(const Event& event) {
  if (event.kind == Event::Kind::kStart) return start();
  if (event.kind == Event::Kind::kDone) {
    if (reactor_ != nullptr) std::exchange(reactor_, nullptr)->on_done();
    messages_ = nullptr;
    self_ = nullptr;
    if (num_lost_ != nullptr) --*num_lost_;
    return queue_.note_end();
  }
  if (reactor_ == nullptr) return;
  switch (event.kind) {
    case Event::Kind::kReadDone: return reactor_->on_read_done(event.is_ok);
    case Event::Kind::kWriteDone: return reactor_->on_write_done(event.is_ok);
    case Event::Kind::kTime:
      if (!is_finished_) reactor_->on_time();
      return;
    default: return reactor_->on_cancel();
  }
}

/// A call that ended before its turn costs no more.
void Call::start() {
  if (is_cancelled_ || is_closed_) return;
  is_started_ = true;
  self_ = shared_from_this();
  queue_.note_begin();
  const Status status = catch_no_memory([&] {
    method_->start(*this, *messages_);
    return ok_status();
  });
  if (!status.is_ok() && reactor_ == nullptr) finish(to_status(status));
}

}  // namespace sluice::rpc::server
