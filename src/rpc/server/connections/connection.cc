#include "rpc/server/connections/connection.h"

#include <utility>

namespace sluice::rpc::server {
namespace {

constexpr int kStepsPerTurn = 4;
/// A greeting is shorter.
constexpr std::size_t kGreetingBytes = 4096;
/// A client with calls that is silent for so long is asked whether it is there, and has as long to
/// answer.
constexpr std::int64_t kKeepAliveNs = 10'000'000'000;

}  // namespace

Connection::Connection(std::unique_ptr<Transport> client, terms::Peer peer,
                       const http2::FrameLimits& limits, const CallSettings& settings,
                       CallQueue& queue, std::int64_t max_age_ns, std::int64_t now_ns)
    : client_(std::move(client)),
      peer_(std::make_shared<terms::Peer>(std::move(peer))),
      rules_(limits, now_ns),
      settings_(settings),
      queue_(queue),
      max_age_ns_(max_age_ns),
      opened_ns_(now_ns),
      read_ns_(now_ns) {}

Result<Connection::State> Connection::pump(std::uint64_t id, std::span<std::byte> scratch,
                                           std::int64_t now_ns) {
  for (int i = 0; i < kStepsPerTurn; ++i) {
    const Step in = SLUICE_TRY(move_in(id, scratch, now_ns));
    queue_.run();  // what came may have its answer already
    const Step out = move_out();
    if (in.is_over || out.is_over) return State::kOver;
    if (unsent_.empty() && session_ != nullptr && session_->is_over()) return State::kOver;
    if (!in.has_moved && !out.has_moved) return State::kWaits;
  }
  return State::kGoesOn;
}

/// A read that does not fill its room has read all, and the next bytes are a new event.
Result<Connection::Step> Connection::move_in(std::uint64_t id, std::span<std::byte> scratch,
                                             std::int64_t now_ns) {
  if (!can_read_) return Step{};
  if (!unsent_.empty() && session_->is_full()) return Step{};
  const std::size_t room = session_ == nullptr ? kGreetingBytes - greeting_.size() : scratch.size();
  const Moved moved = client_->read(scratch.first(room));
  if (moved.num_bytes == 0) {
    can_read_ = false;
    return Step{false, moved.is_closed};
  }
  can_read_ = is_ending_ || moved.num_bytes == room || !client_->is_read_short();
  read_ns_ = now_ns;
  ping_ns_ = 0;
  const std::span<const std::byte> bytes = scratch.first(moved.num_bytes);
  SLUICE_TRY(rules_.take(bytes, now_ns));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  SLUICE_TRY(session_ == nullptr ? greet(id, text) : session_->take(text));
  return Step{true, false};
}

Status Connection::greet(std::uint64_t id, std::string_view bytes) {
  greeting_ += bytes;
  if (!rules_.is_greeted()) {
    if (greeting_.size() < kGreetingBytes) return ok_status();
    return invalid_argument("not HTTP/2: the greeting does not end");
  }
  peer_->certificate = client_->certificate_name();
  session_ = SLUICE_TRY(Session::create(settings_, queue_, peer_, id));
  if (is_leaving_) session_->say_goodbye();
  return session_->take(std::exchange(greeting_, {}));
}

Connection::Step Connection::move_out() {
  if (session_ == nullptr) return {};
  if (unsent_.empty()) unsent_ = session_->send();
  if (unsent_.empty()) return {};
  const Moved moved = client_->write(std::as_bytes(std::span(unsent_)));
  unsent_.remove_prefix(moved.num_bytes);
  return {moved.num_bytes > 0, moved.is_closed};
}

void Connection::say_goodbye() {
  is_leaving_ = true;
  if (session_ != nullptr) session_->say_goodbye();
}

void Connection::finish() {
  if (session_ == nullptr) {
    is_gone_ = true;
  } else {
    session_->finish();
  }
}

Status Connection::check_time(std::int64_t now_ns) {
  SLUICE_TRY(rules_.check_time(now_ns));
  if (session_ == nullptr) return ok_status();
  if (max_age_ns_ > 0 && now_ns - opened_ns_ >= max_age_ns_) session_->say_goodbye();
  if (ping_ns_ != 0) {
    is_gone_ = is_gone_ || now_ns - ping_ns_ >= kKeepAliveNs;
  } else if (session_->has_calls() && now_ns - read_ns_ >= kKeepAliveNs) {
    ping_ns_ = now_ns;
    session_->ping();
  }
  return ok_status();
}

}  // namespace sluice::rpc::server
