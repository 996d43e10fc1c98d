// The client may write any word of the ring at any time. `taken_` and `completed_` live in the
// daemon's own memory; a shared word is read once, into a local value, and that value is checked.
// An entry is taken only while the completion ring has room for its answer, so `complete` never
// waits for the client.
#include "shm/ring_server.h"

#include <bit>
#include <cstring>

#include "base/parking_spot.h"
#include "shm/futex.h"
#include "shm/ring_words.h"

namespace sluice::shm {
namespace {

/// The client may change the memory during the copy, so callers check the copy, never the original.
void copy_out(void* to, const std::byte* from, std::size_t size) { std::memcpy(to, from, size); }

}  // namespace

Result<RingServer> RingServer::create(std::span<std::byte> memory) {
  RingHeader header;
  if (memory.size() < kRingControlBytes) {
    return invalid_argument("a ring has at least {} bytes, this one {}", kRingControlBytes,
                            memory.size());
  }
  copy_out(&header, memory.data(), sizeof(header));
  if (header.magic != kRingMagic) return invalid_argument("the region holds no ring");
  if (header.version != kRingVersion) {
    return invalid_argument("the ring has version {}, this daemon speaks {}", header.version,
                            kRingVersion);
  }
  if (header.num_entries > kMaxRingEntries || !std::has_single_bit(header.num_entries)) {
    return invalid_argument("a ring of {} entries: take a power of two up to {}",
                            header.num_entries, kMaxRingEntries);
  }
  if (memory.size() < ring_bytes(header.num_entries)) {
    return invalid_argument("a ring of {} entries has {} bytes, this region {}", header.num_entries,
                            ring_bytes(header.num_entries), memory.size());
  }
  return RingServer(memory, header.num_entries);
}

RingServer::RingServer(RingServer&& other) noexcept
    : memory_(other.memory_),
      num_entries_(other.num_entries_),
      taken_(other.taken_),
      published_(other.published_),
      completed_(other.completed_) {}

RingServer::Take RingServer::take(Submission& to) {
  // The caller has passed the previous submission on.
  if (published_ != taken_) store_release(control().submission_head.value, published_ = taken_);
  const std::uint32_t waiting = load_acquire(control().submission_tail.value) - taken_;
  if (waiting == 0) return Take::kNone;
  if (waiting > num_entries_) return Take::kBroken;
  const std::uint32_t unread = taken_ - load_acquire(control().completion_head.value);
  if (unread > num_entries_) return Take::kBroken;
  if (unread == num_entries_) return Take::kNone;  // no room for its completion yet
  const std::uint64_t index = taken_ & (num_entries_ - 1);
  const std::byte* from = memory_.data() + submissions_offset() + index * sizeof(Submission);
  copy_out(&to.head, from, sizeof(to.head));
  const std::uint64_t num_tensors = std::uint64_t{to.head.num_inputs} + to.head.num_outputs;
  const bool is_good = num_tensors <= kMaxRingTensors;
  if (is_good) {
    copy_out(to.tensors.data(), from + offsetof(Submission, tensors),
             num_tensors * sizeof(RingTensor));
  }
  ++taken_;
  return is_good ? Take::kEntry : Take::kBad;
}

bool RingServer::has_submission() const {
  return load_acquire(control().submission_tail.value) != taken_ &&
         taken_ - load_acquire(control().completion_head.value) != num_entries_;
}

void RingServer::wait(std::int64_t spin_ns, std::int64_t sleep_ns) {
  const bool has_come = spin_until([this] { return has_submission(); }, habit_.next_ns(spin_ns));
  habit_.learn(has_come);
  if (has_come) return;
  RingBell& own = control().daemon_bell;
  const std::uint32_t seen = load_acquire(own.bell);
  store_fenced(own.is_asleep, 1);
  if (!has_submission()) futex_wait(&own.bell, seen, sleep_ns);
  store_release(own.is_asleep, 0);
}

void RingServer::complete(const Completion& completion) {
  {
    const std::lock_guard lock(completion_mutex_);
    const std::uint64_t index = completed_ & (num_entries_ - 1);
    std::byte* to = memory_.data() + completions_offset(num_entries_) + index * sizeof(Completion);
    std::memcpy(to, &completion.head, sizeof(completion.head));
    if (completion.head.message_bytes > 0) {
      std::memcpy(to + offsetof(Completion, message), completion.message.data(),
                  completion.head.message_bytes);
    }
    std::memcpy(to + offsetof(Completion, outputs), completion.outputs.data(),
                completion.head.num_outputs * sizeof(RingTensor));
    store_fenced(control().completion_tail.value, ++completed_);
  }
  ring_if_asleep(control().client_bell);
}

void RingServer::wake() {
  add(control().daemon_bell.bell);
  futex_wake(&control().daemon_bell.bell);
}

void RingServer::close() {
  store_fenced(control().is_closed.value, 1);
  add(control().client_bell.bell);
  futex_wake(&control().client_bell.bell);
}

}  // namespace sluice::shm
