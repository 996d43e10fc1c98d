#include "rpc/server/guard/relay.h"

#include <sys/socket.h>

#include <algorithm>

namespace sluice::rpc::server {
namespace {

constexpr int kStepsPerTurn = 4;
/// A greeting is shorter.
constexpr std::size_t kGreetingBytes = 4096;

}  // namespace

Result<Relay::State> Relay::pump(std::span<std::byte> scratch, const OpenInner& open_inner,
                                 std::int64_t now_ns) {
  for (int i = 0; i < kStepsPerTurn; ++i) {
    const Step in = SLUICE_TRY(move_in(scratch, open_inner, now_ns));
    const Step out = move_out(scratch);
    if (in.is_over || out.is_over) return State::kOver;
    if (inner_ == nullptr && rules_.is_greeted()) return State::kTurn;
    if (!in.has_moved && !out.has_moved) return State::kWaits;
  }
  return State::kGoesOn;
}

void Relay::leave() {
  client_ = nullptr;
  to_inner_ = {};
  to_client_ = {};
  if (inner_ != nullptr) shutdown(inner_->fd(), SHUT_WR);
}

Result<Relay::Step> Relay::move_in(std::span<std::byte> scratch, const OpenInner& open_inner,
                                   std::int64_t now_ns) {
  if (client_ == nullptr) return Step{};
  if (inner_ == nullptr) return greet(scratch, open_inner, now_ns);
  if (!to_inner_.empty()) return flush(to_inner_, *inner_);
  const Moved moved = client_->read(scratch);
  if (moved.num_bytes == 0) return Step{false, moved.is_closed};
  const std::span<const std::byte> bytes = scratch.first(moved.num_bytes);
  SLUICE_TRY(rules_.take(bytes, now_ns));
  return pass_on(bytes, *inner_, to_inner_);
}

Result<Relay::Step> Relay::greet(std::span<std::byte> scratch, const OpenInner& open_inner,
                                 std::int64_t now_ns) {
  if (!rules_.is_greeted()) {
    // These bytes have nowhere to go yet, so no more are read than a greeting has.
    const Moved moved = client_->read(scratch.first(kGreetingBytes - to_inner_.size()));
    if (moved.num_bytes == 0) return Step{false, moved.is_closed};
    const std::span<const std::byte> bytes = scratch.first(moved.num_bytes);
    SLUICE_TRY(rules_.take(bytes, now_ns));
    to_inner_.insert(to_inner_.end(), bytes.begin(), bytes.end());
    if (!rules_.is_greeted() && to_inner_.size() == kGreetingBytes) {
      return invalid_argument("not HTTP/2: the greeting does not end");
    }
    if (!rules_.is_greeted()) return Step{true, false};
  }
  peer_.certificate = client_->certificate_name();
  shm::Fd inner = SLUICE_TRY(open_inner(peer_));
  if (inner.is_valid()) inner_ = make_plain_transport(inner.release());
  return Step{inner_ != nullptr, false};
}

/// What gRPC sent before it closed still reaches the client.
Relay::Step Relay::move_out(std::span<std::byte> scratch) {
  if (inner_ == nullptr) return {};
  if (!to_client_.empty()) return flush(to_client_, *client_);
  const Moved moved = inner_->read(scratch);
  if (moved.num_bytes > 0) has_answered_ = true;
  if (client_ == nullptr) return {moved.num_bytes > 0, moved.is_closed};
  const std::span<const std::byte> bytes = scratch.first(moved.num_bytes);
  const std::vector<std::byte> with_goodbye = goodbye_.take(bytes);
  if (!with_goodbye.empty()) return pass_on(with_goodbye, *client_, to_client_);
  if (bytes.empty()) return {false, moved.is_closed};
  return pass_on(bytes, *client_, to_client_);
}

Relay::Step Relay::flush(std::vector<std::byte>& rest, Transport& to) {
  const Moved moved = to.write(rest);
  if (moved.num_bytes == rest.size()) {
    rest = {};  // a relay that waits holds no memory
  } else {
    rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(moved.num_bytes));
  }
  return {moved.num_bytes > 0, moved.is_closed};
}

Relay::Step Relay::pass_on(std::span<const std::byte> bytes, Transport& to,
                           std::vector<std::byte>& rest) {
  const Moved moved = to.write(bytes);
  const std::span<const std::byte> left = bytes.subspan(moved.num_bytes);
  rest.assign(left.begin(), left.end());
  return {true, moved.is_closed};
}

}  // namespace sluice::rpc::server
