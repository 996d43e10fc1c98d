// The guest may write any word of the memory at any time. The proxy's positions live in its own
// memory; a shared word is read once, into a local value, and that value is checked.
#include "guest/wire/call_ring.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "shm/ring_words.h"

namespace sluice::guest {
namespace {

constexpr std::uint32_t kRecordBytes = sizeof(CallHead);
constexpr std::uint32_t kMaxRecordBytes = kRecordBytes + kMaxPayloadBytes;
constexpr std::int64_t kSpinNs = 50'000;
/// Between two looks at whether the proxy is there.
constexpr std::int64_t kSleepNs = 50'000'000;

constexpr std::uint32_t rounded_up(std::uint32_t bytes) {
  return (bytes + kRecordBytes - 1) / kRecordBytes * kRecordBytes;
}

std::byte* calls_of(std::span<std::byte> memory) { return memory.data() + kControlBytes; }

}  // namespace

bool is_connected(int socket) {
  pollfd asked = {socket, POLLRDHUP, 0};
  return poll(&asked, 1, 0) >= 0 &&
         (asked.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) == 0;
}

Result<CallSender> CallSender::create(std::span<std::byte> memory, int socket) {
  constexpr const char* kAdvice = "take the proxy and the guest library of one installation";
  if (memory.size() != static_cast<std::size_t>(kSharedBytes)) {
    return invalid_argument("the proxy shares {} bytes, this guest library takes {}; {}",
                            memory.size(), kSharedBytes, kAdvice);
  }
  CallSender sender(memory, socket);
  const CallControl& control = sender.control();
  if (control.magic != kCallMagic) {
    return invalid_argument("the memory is not that of a Sluice proxy");
  }
  if (control.version != kWireVersion) {
    return invalid_argument("the proxy speaks version {} of the calls, this guest library {}; {}",
                            control.version, kWireVersion, kAdvice);
  }
  return sender;
}

template <typename IsReady>
bool CallSender::wait_until(const IsReady& is_ready) {
  const bool has_come = shm::spin_until(is_ready, habit_.next_ns(kSpinNs));
  habit_.learn(has_come);
  if (has_come) return true;
  shm::RingBell& own = control().guest_bell;
  while (!is_ready()) {
    if (shm::load_acquire(control().is_closed.value) != 0 || !is_connected(socket_)) return false;
    const std::uint32_t seen = shm::load_acquire(own.bell);
    shm::store_fenced(own.is_asleep, 1);
    if (!is_ready()) shm::futex_wait(&own.bell, seen, kSleepNs);
    shm::store_release(own.is_asleep, 0);
  }
  return true;
}

bool CallSender::wait_for_room(std::uint32_t bytes) {
  return wait_until(
      [&] { return kCallBytes - (tail_ - shm::load_acquire(control().head.value)) >= bytes; });
}

void CallSender::publish(std::uint32_t bytes) {
  shm::store_fenced(control().tail.value, tail_ += bytes);
  shm::ring_if_asleep(control().proxy_bell);
}

bool CallSender::send(CallKind kind, const Body& body, std::span<const std::byte> payload,
                      std::uint32_t sequence) {
  CallHead head;
  head.payload_bytes = static_cast<std::uint32_t>(payload.size());
  head.record_bytes = rounded_up(kRecordBytes + head.payload_bytes);
  head.kind = static_cast<std::uint32_t>(kind);
  head.sequence = sequence;
  head.body = body;
  const std::uint32_t to_end = kCallBytes - (tail_ & (kCallBytes - 1));
  if (to_end < head.record_bytes) {
    if (!wait_for_room(to_end)) return false;
    const CallHead skip = {.record_bytes = to_end, .kind = kSkip};
    std::memcpy(calls_of(memory_) + (tail_ & (kCallBytes - 1)), &skip, sizeof(skip));
    publish(to_end);
  }
  if (!wait_for_room(head.record_bytes)) return false;
  std::byte* const to = calls_of(memory_) + (tail_ & (kCallBytes - 1));
  std::memcpy(to, &head, sizeof(head));
  if (!payload.empty()) std::memcpy(to + sizeof(head), payload.data(), payload.size());
  publish(head.record_bytes);
  return true;
}

std::optional<Reply> CallSender::receive(std::uint32_t sequence) {
  if (!wait_until([&] { return shm::load_acquire(control().replied.value) == sequence; })) {
    return std::nullopt;
  }
  return control().reply;
}

std::span<const std::byte> CallSender::reply_payload(const Reply& reply) const {
  const auto bytes = std::min<std::size_t>(reply.payload_bytes, kMaxPayloadBytes);
  return memory_.subspan(kControlBytes + kCallBytes, bytes);
}

std::uint32_t CallSender::take_latched() {
  std::atomic_ref word(control().latched.value);
  return word.load(std::memory_order_acquire) == 0 ? 0 : word.exchange(0);
}

CallReceiver::CallReceiver(std::span<std::byte> memory) : memory_(memory) {
  control().magic = kCallMagic;
  control().version = kWireVersion;
}

void CallReceiver::release() {
  if (released_ == head_) return;
  shm::store_fenced(control().head.value, released_ = head_);
  shm::ring_if_asleep(control().guest_bell);
}

CallReceiver::Take CallReceiver::take(Call& to) {
  release();
  while (true) {
    const std::uint32_t waiting = shm::load_acquire(control().tail.value) - head_;
    if (waiting == 0) return Take::kNone;
    const std::uint32_t place = head_ & (kCallBytes - 1);
    const std::uint32_t to_end = kCallBytes - place;
    if (waiting > kCallBytes || waiting < kRecordBytes) return Take::kBroken;
    CallHead head;
    std::memcpy(&head, calls_of(memory_) + place, sizeof(head));
    const bool is_inside = head.record_bytes >= kRecordBytes &&
                           head.record_bytes % kRecordBytes == 0 && head.record_bytes <= waiting &&
                           head.record_bytes <= to_end;
    if (!is_inside) return Take::kBroken;
    head_ += head.record_bytes;
    if (head.kind == kSkip) {
      release();
      continue;
    }
    if (head.record_bytes > kMaxRecordBytes ||
        head.payload_bytes > head.record_bytes - kRecordBytes ||
        head.kind >= static_cast<std::uint32_t>(CallKind::kCount)) {
      return Take::kBroken;
    }
    to.kind = static_cast<CallKind>(head.kind);
    to.sequence = head.sequence;
    to.body = head.body;
    to.payload = {calls_of(memory_) + place + kRecordBytes, head.payload_bytes};
    return Take::kCall;
  }
}

bool CallReceiver::has_call() const { return shm::load_acquire(control().tail.value) != head_; }

bool CallReceiver::spin() {
  const bool has_come = shm::spin_until([this] { return has_call(); }, habit_.next_ns(kSpinNs));
  habit_.learn(has_come);
  return has_come;
}

void CallReceiver::wait(std::int64_t sleep_ns) {
  shm::RingBell& own = control().proxy_bell;
  const std::uint32_t seen = shm::load_acquire(own.bell);
  shm::store_fenced(own.is_asleep, 1);
  if (!has_call()) shm::futex_wait(&own.bell, seen, sleep_ns);
  shm::store_release(own.is_asleep, 0);
}

std::span<std::byte> CallReceiver::reply_room() const {
  return memory_.subspan(kControlBytes + kCallBytes, kMaxPayloadBytes);
}

void CallReceiver::reply(const Reply& reply) {
  control().reply = reply;
  shm::store_fenced(control().replied.value, reply.sequence);
  shm::ring_if_asleep(control().guest_bell);
}

void CallReceiver::latch(std::uint32_t error) {
  std::uint32_t none = 0;
  std::atomic_ref(control().latched.value).compare_exchange_strong(none, error);
}

void CallReceiver::close() {
  shm::store_fenced(control().is_closed.value, 1);
  shm::add(control().guest_bell.bell);
  shm::futex_wake(&control().guest_bell.bell);
}

}  // namespace sluice::guest
