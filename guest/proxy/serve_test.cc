#include "guest/proxy/serve.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <new>
#include <thread>

#include "guest/proxy/testing/emulated_guests.h"
#include "guest/wire/hello.h"
#include "shm/region.h"

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
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const shm::Fd own(ends[0]);
  std::thread proxy([this, its = shm::Fd(ends[1])] { serve_guest(*device_, {}, its); });
  {
    Hello hello;
    const auto memory = receive_hello(own.get(), hello);
    ASSERT_TRUE(memory.is_ok()) << memory.status().message();
    const auto region = shm::Region::adopt(memory->get(), hello.shared_bytes);
    ASSERT_TRUE(region.is_ok()) << region.status().message();
    auto sender = CallSender::create((*region)->mapped(), own.get());
    ASSERT_TRUE(sender.is_ok()) << sender.status().message();
    ASSERT_TRUE(sender->send(CallKind::kAllocate, to_body(MemoryBody{.bytes = 4096}), {}, 1));
    ASSERT_TRUE(sender->receive(1).has_value());
    ASSERT_TRUE(sender->send(CallKind::kMemoryInfo, {}, {}, 2));
    EXPECT_FALSE(sender->receive(2).has_value());
  }
  proxy.join();
  CallingGuest neighbour(*device_);
  EXPECT_NE(neighbour.make_memory(4096), 0U);
}

}  // namespace
}  // namespace sluice::guest
