#include "guest/wire/call_ring.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "guest/wire/hello.h"
#include "shm/fd_socket.h"
#include "shm/shared_memory.h"

namespace sluice::guest {
namespace {

/// Both sides in one process.
class CallRingTest : public ::testing::Test {
 protected:
  CallRingTest() {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    guest_socket_ = shm::Fd(ends[0]);
    proxy_socket_ = shm::Fd(ends[1]);
    receiver_.emplace(memory_->memory());
    sender_.emplace(*CallSender::create(memory_->memory(), guest_socket_.get()));
  }
  CallControl& control() { return *reinterpret_cast<CallControl*>(memory_->memory().data()); }
  /// Writes a head where the receiver reads next, as a hostile guest may.
  CallReceiver::Take take_raw(const CallHead& head, std::uint32_t tail) {
    std::memcpy(memory_->memory().data() + kControlBytes, &head, sizeof(head));
    control().tail.value = tail;
    Call call;
    return receiver_->take(call);
  }

  Result<shm::SharedMemory> memory_ = shm::SharedMemory::create(kSharedBytes);
  shm::Fd guest_socket_;
  shm::Fd proxy_socket_;
  std::optional<CallReceiver> receiver_;
  std::optional<CallSender> sender_;
};

std::vector<std::byte> payload_of(std::uint32_t sequence, std::size_t bytes) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(sequence));
}

TEST_F(CallRingTest, DeliversCallsOfAllSizesInOrderAndWrapsAround) {
  constexpr std::uint32_t kCalls = 400;
  std::mt19937 random(5);
  std::vector<std::size_t> sizes;
  for (std::uint32_t i = 0; i < kCalls; ++i) sizes.push_back(random() % (kMaxPayloadBytes + 1));
  std::thread guest([&] {
    for (std::uint32_t i = 1; i <= kCalls; ++i) {
      const Body body = to_body(MemoryBody{.target = i});
      ASSERT_TRUE(sender_->send(CallKind::kCopyIn, body, payload_of(i, sizes[i - 1]), i));
    }
  });
  Call call;
  for (std::uint32_t i = 1; i <= kCalls;) {
    const auto taken = receiver_->take(call);
    ASSERT_NE(taken, CallReceiver::Take::kBroken);
    if (taken == CallReceiver::Take::kNone) {
      receiver_->wait(/*sleep_ns=*/10'000'000);
      continue;
    }
    EXPECT_EQ(call.sequence, i);
    EXPECT_EQ(from_body<MemoryBody>(call.body).target, i);
    const auto want = payload_of(i, sizes[i - 1]);
    ASSERT_EQ(call.payload.size(), want.size());
    EXPECT_TRUE(std::ranges::equal(call.payload, want));
    ++i;
  }
  guest.join();
}

TEST_F(CallRingTest, ReplyWakesTheGuest) {
  std::thread proxy([&] {
    Call call;
    while (receiver_->take(call) != CallReceiver::Take::kCall) receiver_->wait(10'000'000);
    receiver_->reply_room()[0] = std::byte{42};
    receiver_->reply(
        {.sequence = call.sequence, .result = 7, .payload_bytes = 1, .words = {1, 2, 3, 4}});
  });
  ASSERT_TRUE(sender_->send(CallKind::kMemoryInfo, {}, {}, 9));
  const auto reply = sender_->receive(9);
  proxy.join();
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->result, 7);
  EXPECT_EQ(reply->words[3], 4U);
  EXPECT_EQ(sender_->reply_payload(*reply)[0], std::byte{42});
}

TEST_F(CallRingTest, FirstErrorStaysUntilItIsTaken) {
  EXPECT_EQ(sender_->take_latched(), 0U);
  receiver_->latch(700);
  receiver_->latch(1);
  EXPECT_EQ(sender_->take_latched(), 700U);
  EXPECT_EQ(sender_->take_latched(), 0U);
}

TEST_F(CallRingTest, GuestOfADeadProxyStopsWaiting) {
  proxy_socket_ = shm::Fd();
  const std::vector<std::byte> payload(kMaxPayloadBytes);
  bool is_sent = true;
  for (int i = 0; i < 100 && is_sent; ++i)
    is_sent = sender_->send(CallKind::kCopyIn, {}, payload, 0);
  EXPECT_FALSE(is_sent) << "the ring holds 100 calls of 256 KiB";
  EXPECT_FALSE(sender_->receive(1).has_value());
}

TEST_F(CallRingTest, ClosedProxyEndsTheWaitForAReply) {
  receiver_->close();
  EXPECT_FALSE(sender_->receive(1).has_value());
}

TEST_F(CallRingTest, RefusesRecordsThatNoGuestWrites) {
  const CallHead good = {.record_bytes = 64, .kind = 0};
  EXPECT_EQ(take_raw(good, 63), CallReceiver::Take::kBroken) << "less than a head";
  EXPECT_EQ(take_raw(good, kCallBytes + 64), CallReceiver::Take::kBroken) << "more than the ring";
  const auto take_with = [&](std::uint32_t record, std::uint32_t payload, std::uint32_t kind) {
    receiver_.emplace(memory_->memory());
    return take_raw({.record_bytes = record, .kind = kind, .payload_bytes = payload}, 1024);
  };
  constexpr auto kBroken = CallReceiver::Take::kBroken;
  EXPECT_EQ(take_with(0, 0, 0), kBroken);
  EXPECT_EQ(take_with(65, 0, 0), kBroken);
  EXPECT_EQ(take_with(2048, 0, 0), kBroken) << "longer than what was written";
  EXPECT_EQ(take_with(128, 65, 0), kBroken) << "a payload longer than its record";
  EXPECT_EQ(take_with(64, 0xffffffff, 0), kBroken);
  EXPECT_EQ(take_with(64, 0, static_cast<std::uint32_t>(CallKind::kCount)), kBroken);
  EXPECT_EQ(take_with(128, 64, 0), CallReceiver::Take::kCall);
}

TEST_F(CallRingTest, RefusesMemoryOfAnotherVersionAndSaysBoth) {
  control().version = kWireVersion + 1;
  EXPECT_EQ(CallSender::create(memory_->memory(), guest_socket_.get()).status().message(),
            fmt::format("the proxy speaks version {} of the calls, this guest library {}; take the "
                        "proxy and the guest library of one installation",
                        kWireVersion + 1, kWireVersion));
  control().magic = 0;
  EXPECT_FALSE(CallSender::create(memory_->memory(), guest_socket_.get()).is_ok());
  EXPECT_FALSE(CallSender::create(memory_->memory().first(4096), guest_socket_.get()).is_ok());
}

TEST_F(CallRingTest, GuestThatIsTurnedAwayLearnsTheLimitAndWhatToDo) {
  proxy_socket_ = shm::Fd();
  Hello hello;
  const std::string message = receive_hello(guest_socket_.get(), hello).status().message();
  EXPECT_NE(message.find("1024 guests"), std::string::npos) << message;
  EXPECT_NE(message.find("sluice guest serve --socket PATH"), std::string::npos) << message;
}

}  // namespace
}  // namespace sluice::guest
