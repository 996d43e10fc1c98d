// A guest on a thread of its own, for tests: its calls go through the ring.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "guest/proxy/serve.h"
#include "guest/wire/call_ring.h"
#include "guest/wire/hello.h"
#include "shm/region.h"

namespace sluice::guest {

/// Used by one thread. `device` outlives it.
class RingGuest {
 public:
  explicit RingGuest(SharedDevice& device) {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    own_ = shm::Fd(ends[0]);
    proxy_ = std::thread([&device, its = shm::Fd(ends[1])] { serve_guest(device, {}, its); });
    Hello hello;
    const auto memory = receive_hello(own_.get(), hello);
    EXPECT_TRUE(memory.is_ok()) << memory.status().message();
    region_ = shm::Region::adopt(memory->get(), hello.shared_bytes).value();
    sender_.emplace(CallSender::create(region_->mapped(), own_.get()).value());
  }
  RingGuest(const RingGuest&) = delete;
  RingGuest& operator=(const RingGuest&) = delete;
  ~RingGuest() { leave(); }

  /// None: the proxy serves this guest no more.
  template <typename TypedBody>
  std::optional<Reply> ask(CallKind kind, const TypedBody& body,
                           std::span<const std::byte> payload = {}) {
    if (!sender_->send(kind, to_body(body), payload, ++sequence_)) return std::nullopt;
    return sender_->receive(sequence_);
  }
  /// Wants a reply, and does not read it.
  template <typename TypedBody>
  void ask_and_leave(CallKind kind, const TypedBody& body) {
    EXPECT_TRUE(sender_->send(kind, to_body(body), {}, ++sequence_));
  }
  /// The number that a call which has to succeed gives back.
  template <typename TypedBody>
  std::uint64_t make(CallKind kind, const TypedBody& body) {
    const auto reply = ask(kind, body);
    EXPECT_TRUE(reply && reply->result == 0);
    return reply ? reply->words[0] : 0;
  }
  /// A call without a reply.
  template <typename TypedBody>
  void post(CallKind kind, const TypedBody& body, std::span<const std::byte> payload = {}) {
    EXPECT_TRUE(sender_->send(kind, to_body(body), payload, /*sequence=*/0));
  }
  std::span<const std::byte> payload_of(const Reply& reply) const {
    return sender_->reply_payload(reply);
  }
  std::uint32_t take_error() { return sender_->take_latched(); }
  /// Returns once the proxy has everything back.
  void leave() {
    own_ = {};
    if (proxy_.joinable()) proxy_.join();
  }

 private:
  shm::Fd own_;
  std::thread proxy_;
  std::shared_ptr<shm::Region> region_;
  std::optional<CallSender> sender_;
  std::uint32_t sequence_ = 0;
};

}  // namespace sluice::guest
