// One thread submits and one takes. The client trusts the daemon's words no more than the daemon
// trusts the client's: counts that it copies out are cut to the sizes of its own arrays.
// `is_asleep` is stored with a fence before the last look at the ring, and the other side looks at
// `is_asleep` after its fenced store of the tail; one of the two therefore sees the other, and no
// wake-up is lost. `wake` leaves a mark before it raises the bell: a `wait` that has read the bell
// later finds the mark.
#include "shm/ring_client.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "shm/ring_words.h"

namespace sluice::shm {

void RingClient::format(std::span<std::byte> memory, std::uint32_t num_entries) {
  auto* control = new (memory.data()) RingControl();
  control->header.num_entries = num_entries;
}

bool RingClient::submit(const Submission& submission) {
  // Other threads and the daemon read this word; the daemon does not change it.
  const std::uint32_t read = load_acquire(control().completion_head.value);
  if (submitted_ - read >= num_entries_) return false;
  const std::uint64_t index = submitted_ & (num_entries_ - 1);
  std::byte* to = memory_.data() + submissions_offset() + index * sizeof(Submission);
  std::memcpy(to, &submission.head, sizeof(submission.head));
  const std::size_t num_tensors = std::min<std::size_t>(
      std::size_t{submission.head.num_inputs} + submission.head.num_outputs, kMaxRingTensors);
  std::memcpy(to + offsetof(Submission, tensors), submission.tensors.data(),
              num_tensors * sizeof(RingTensor));
  store_fenced(control().submission_tail.value, ++submitted_);
  ring_if_asleep(control().daemon_bell);
  return true;
}

bool RingClient::has_untaken() const {
  return load_acquire(control().submission_head.value) != submitted_;
}

bool RingClient::has_completion() const {
  return load_acquire(control().completion_tail.value) != read_;
}

bool RingClient::take(Completion& to) {
  if (!has_completion()) return false;
  const std::uint64_t index = read_ & (num_entries_ - 1);
  const std::byte* from =
      memory_.data() + completions_offset(num_entries_) + index * sizeof(Completion);
  std::memcpy(&to.head, from, sizeof(to.head));
  to.head.message_bytes = std::min<std::uint32_t>(to.head.message_bytes, kRingMessageBytes);
  to.head.num_outputs = std::min<std::uint32_t>(to.head.num_outputs, kMaxRingTensors);
  std::memcpy(to.message.data(), from + offsetof(Completion, message), to.head.message_bytes);
  std::memcpy(to.outputs.data(), from + offsetof(Completion, outputs),
              to.head.num_outputs * sizeof(RingTensor));
  store_release(control().completion_head.value, ++read_);
  return true;
}

void RingClient::wait(std::int64_t spin_ns, std::int64_t sleep_ns) {
  const auto is_ready = [this] { return has_completion() || is_closed() || is_woken_.load(); };
  const bool has_come = spin_until(is_ready, habit_.next_ns(spin_ns));
  habit_.learn(has_come);
  if (!has_come) {
    RingBell& own = control().client_bell;
    const std::uint32_t seen = load_acquire(own.bell);
    store_fenced(own.is_asleep, 1);
    if (!is_ready()) futex_wait(&own.bell, seen, sleep_ns);
    store_release(own.is_asleep, 0);
  }
  is_woken_.exchange(false);
}

void RingClient::wake() {
  is_woken_.store(true);
  add(control().client_bell.bell);
  futex_wake(&control().client_bell.bell);
}

bool RingClient::is_closed() const { return load_acquire(control().is_closed.value) != 0; }

}  // namespace sluice::shm
