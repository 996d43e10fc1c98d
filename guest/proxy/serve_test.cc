#include "guest/proxy/serve.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "guest/proxy/testing/emulated_guests.h"
#include "guest/proxy/testing/ring_guest.h"

namespace sluice::guest {
namespace {

/// A host that has no memory left when a guest asks for the memory of the device.
class ServedGuest : public EmulatedGuests {
 protected:
  void change(cuda::DriverTable& table) override {
    table.mem_get_info = [](std::size_t*, std::size_t*) -> CuResult { throw std::bad_alloc(); };
  }
};

TEST_F(ServedGuest, LackOfHostMemoryEndsTheGuestAlone) {
  start();
  {
    RingGuest guest(*device_);
    ASSERT_TRUE(guest.ask(CallKind::kAllocate, MemoryBody{.bytes = 4096}).has_value());
    EXPECT_FALSE(guest.ask(CallKind::kMemoryInfo, HandleBody{}).has_value());
  }
  CallingGuest neighbour(*device_);
  EXPECT_NE(neighbour.make_memory(4096), 0U);
}

using RingGuests = EmulatedGuests;

TEST_F(RingGuests, GuestThatReadsNoReplyHoldsNothingUp) {
  start();
  RingGuest deaf(*device_);
  for (int i = 0; i < 1000; ++i) deaf.ask_and_leave(CallKind::kMemoryInfo, HandleBody{});
  RingGuest neighbour(*device_);
  EXPECT_NE(neighbour.make(CallKind::kAllocate, MemoryBody{.bytes = 4096}), 0U);
  EXPECT_TRUE(deaf.ask(CallKind::kMemoryInfo, HandleBody{}).has_value());
}

TEST_F(RingGuests, GuestsAreListedWithWhatTheyUseUntilTheyLeave) {
  start();
  RingGuest one(*device_);
  RingGuest other(*device_);
  const std::uint64_t memory = one.make(CallKind::kAllocate, MemoryBody{.bytes = 4096});
  const std::array<std::byte, 100> bytes = {};
  ASSERT_TRUE(one.ask(CallKind::kCopyIn, MemoryBody{.target = memory}, bytes).has_value());
  const auto listed = [&] {
    const auto reply = other.ask(CallKind::kGuests, HandleBody{});
    EXPECT_TRUE(reply && reply->result == 0);
    const auto payload = other.payload_of(*reply);
    std::vector<GuestLine> lines(payload.size() / sizeof(GuestLine));
    if (!lines.empty()) std::memcpy(lines.data(), payload.data(), payload.size());
    return lines;
  };
  const std::vector<GuestLine> lines = listed();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].process, getpid());  // which made both ends of the socket
  EXPECT_EQ(lines[0].memory_bytes, 4096U);
  EXPECT_EQ(lines[0].num_calls, 2U);
  EXPECT_EQ(lines[0].num_launches, 0U);
  EXPECT_EQ(lines[0].to_device_bytes, 100U);
  EXPECT_EQ(lines[0].from_device_bytes, 0U);
  one.leave();
  EXPECT_TRUE(listed().empty());
}

TEST_F(RingGuests, GuestOfAnotherUserIsToldOfNobody) {
  start();
  CallingGuest guest(*device_);  // of a user that nobody knows
  EXPECT_EQ(guest.ask(CallKind::kGuests, HandleBody{}), CuResult::kNotPermitted);
}

/// A listening socket with an address of the system's choice.
class AcceptedGuests : public EmulatedGuests {
 protected:
  void SetUp() override {
    start();
    listening_ = shm::Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    address_.sun_family = AF_UNIX;
    ASSERT_EQ(bind(listening_.get(), as_sockaddr(), sizeof(address_.sun_family)), 0);
    ASSERT_EQ(getsockname(listening_.get(), as_sockaddr(), &address_bytes_), 0);
    ASSERT_EQ(listen(listening_.get(), /*backlog=*/4), 0);
  }

  shm::Fd connect_guest() {
    shm::Fd guest(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(guest.get(), as_sockaddr(), address_bytes_), 0);
    return guest;
  }

  shm::Fd listening_;

 private:
  sockaddr* as_sockaddr() { return reinterpret_cast<sockaddr*>(&address_); }

  sockaddr_un address_ = {};
  socklen_t address_bytes_ = sizeof(address_);
};

TEST_F(AcceptedGuests, NewcomerWaitsUntilTheGuestsOfALostDeviceHaveLeft) {
  std::atomic<bool> has_ended = false;
  Status end;
  std::thread proxy([&] {
    end = accept_guests(*device_, {}, listening_);
    has_ended = true;
  });
  shm::Fd neighbour = connect_guest();
  Hello hello;
  EXPECT_TRUE(receive_hello(neighbour.get(), hello).is_ok());
  device_->notice(CuResult::kIllegalAddress);
  const shm::Fd newcomer = connect_guest();
  EXPECT_FALSE(has_ended);
  neighbour = {};
  proxy.join();
  EXPECT_TRUE(end.is_ok()) << end.message();
  const shm::Fd for_another(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(for_another.is_valid());
  EXPECT_EQ(send(for_another.get(), "!", 1, 0), 1);
  char taken = 0;
  EXPECT_EQ(recv(newcomer.get(), &taken, 1, 0), 1);
}

}  // namespace
}  // namespace sluice::guest
