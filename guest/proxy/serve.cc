#include "guest/proxy/serve.h"

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <span>
#include <utility>

#include "base/process/start_thread.h"
#include "guest/wire/call_ring.h"
#include "guest/wire/hello.h"
#include "shm/shared_memory.h"

namespace sluice::guest {

using cuda::CuResult;

namespace {

constexpr int kMaxGuests = 1024;
/// Between two looks at whether an idle guest is there.
constexpr std::int64_t kSleepNs = 100'000'000;

void answer_call(Guest& guest, CallReceiver& calls, const Call& call) {
  Answer answer;
  answer.room = calls.reply_room();
  const CuResult result = guest.handle(call, answer);
  if (call.sequence != 0) {
    calls.reply({.sequence = call.sequence,
                 .result = static_cast<std::int32_t>(result),
                 .payload_bytes = answer.payload_bytes,
                 .words = answer.words});
  } else if (result != CuResult::kSuccess) {
    calls.latch(static_cast<std::uint32_t>(result));
  }
}

void answer_calls(Guest& guest, CallReceiver& calls, const shm::Fd& socket) {
  Call call;
  while (true) {
    switch (calls.take(call)) {
      case CallReceiver::Take::kCall: answer_call(guest, calls, call); break;
      case CallReceiver::Take::kBroken: return;
      case CallReceiver::Take::kNone:
        if (!is_connected(socket.get())) return;
        calls.wait(kSleepNs);
        break;
    }
  }
}

}  // namespace

void serve_guest(SharedDevice& device, const GuestLimits& limits, const shm::Fd& socket) {
  const auto memory = shm::SharedMemory::create(kSharedBytes);
  if (!memory.is_ok()) return;
  CallReceiver calls(memory->memory());
  if (device.join() == CuResult::kSuccess) {
    Guest guest(device, limits);
    const Hello hello = {.shared_bytes = static_cast<std::uint64_t>(kSharedBytes)};
    const bool is_ready =
        guest.start() == CuResult::kSuccess &&
        shm::send_with_fd(socket.get(), std::as_bytes(std::span(&hello, 1)), memory->fd()).is_ok();
    if (is_ready) answer_calls(guest, calls, socket);
  }
  calls.close();
  device.leave();
}

void accept_guests(SharedDevice& device, const GuestLimits& limits, const shm::Fd& listening) {
  const auto num_guests = std::make_shared<std::atomic<int>>(0);
  while (true) {
    shm::Fd socket(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.is_valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
      poll(nullptr, 0, /*milliseconds=*/100);  // until a guest leaves
      continue;
    }
    if (*num_guests >= kMaxGuests) continue;
    ++*num_guests;
    auto shared = std::make_shared<shm::Fd>(std::move(socket));
    const auto serve = [&device, limits, num_guests, shared] {
      serve_guest(device, limits, *shared);
      --*num_guests;
    };
    auto thread = start_thread(serve);
    if (thread.is_ok()) {
      thread->detach();
    } else {
      --*num_guests;
    }
  }
}

}  // namespace sluice::guest
