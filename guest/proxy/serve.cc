#include "guest/proxy/serve.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <span>
#include <utility>

#include "base/no_memory.h"
#include "base/process/start_thread.h"
#include "guest/wire/call_ring.h"
#include "guest/wire/hello.h"
#include "shm/shared_memory.h"

namespace sluice::guest {

using cuda::CuResult;

namespace {

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
        if (calls.spin()) break;
        guest.pause();
        if (!is_connected(socket.get())) return;
        calls.wait(kSleepNs);
        break;
    }
  }
}

/// One of the guests that a proxy serves at once.
class Place {
 public:
  explicit Place(std::shared_ptr<std::atomic<int>> count) : count_(std::move(count)) { ++*count_; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    --*count_;
    count_->notify_all();
  }

 private:
  const std::shared_ptr<std::atomic<int>> count_;
};

/// Whoever opened the socket: a program that it becomes has the same number.
GuestPeer peer_of(const shm::Fd& socket) {
  ucred credentials = {};
  socklen_t bytes = sizeof(credentials);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) return {};
  return {.process = credentials.pid, .may_list = credentials.uid == geteuid()};
}

void serve_joined(SharedDevice& device, const GuestLimits& limits, const shm::Fd& socket,
                  const shm::SharedMemory& memory, CallReceiver& calls) {
  Guest guest(device, limits, peer_of(socket));
  const Hello hello = {.shared_bytes = static_cast<std::uint64_t>(kSharedBytes)};
  const bool is_ready =
      guest.start() == CuResult::kSuccess &&
      shm::send_with_fd(socket.get(), std::as_bytes(std::span(&hello, 1)), memory.fd()).is_ok();
  if (is_ready) answer_calls(guest, calls, socket);
}

}  // namespace

void serve_guest(SharedDevice& device, const GuestLimits& limits, const shm::Fd& socket) {
  const Status ignored = catch_no_memory([&]() -> Status {
    const shm::SharedMemory memory = SLUICE_TRY(shm::SharedMemory::create(kSharedBytes));
    CallReceiver calls(memory.memory());
    if (device.join() == CuResult::kSuccess) serve_joined(device, limits, socket, memory, calls);
    calls.close();
    return ok_status();
  });
}

Status accept_guests(SharedDevice& device, const GuestLimits& limits, const shm::Fd& listening) {
  const auto num_guests = std::make_shared<std::atomic<int>>(0);
  while (true) {
    pollfd newcomer = {listening.get(), POLLIN, 0};
    if (poll(&newcomer, 1, -1) < 0 && errno == EINTR) continue;
    if (device.is_lost()) {
      while (const int count = *num_guests) num_guests->wait(count);
      return ok_status();
    }
    shm::Fd socket(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.is_valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) {
        return make_error(Code::kUnavailable, "the listening socket is broken");
      }
      poll(nullptr, 0, /*milliseconds=*/100);  // until a guest leaves
      continue;
    }
    if (*num_guests >= kMaxGuests) continue;
    const Status ignored = catch_no_memory([&]() -> Status {
      const auto place = std::make_shared<Place>(num_guests);
      const auto shared = std::make_shared<shm::Fd>(std::move(socket));
      const auto serve = [&device, limits, place, shared] { serve_guest(device, limits, *shared); };
      SLUICE_TRY(start_thread(serve)).detach();
      return ok_status();
    });
  }
}

}  // namespace sluice::guest
