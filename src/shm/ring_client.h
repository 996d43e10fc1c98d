// The client's side of a ring in shared memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "shm/ring_layout.h"
#include "shm/spin_habit.h"

namespace sluice::shm {

/// Submits requests and takes their completions, in any order. At most `num_entries` requests may
/// be without a consumed completion.
class RingClient {
 public:
  /// Writes an empty ring, before the memory is given to the daemon.
  /// Requires: zeroed, at least ring_bytes(num_entries); a power of two, at most kMaxRingEntries.
  static void format(std::span<std::byte> memory, std::uint32_t num_entries);

  /// For a ring that was formatted so and not used yet. `memory` outlives the client.
  RingClient(std::span<std::byte> memory, std::uint32_t num_entries)
      : memory_(memory), num_entries_(num_entries) {}
  RingClient(const RingClient&) = delete;
  RingClient& operator=(const RingClient&) = delete;
  ~RingClient() = default;

  // By one thread at a time.

  /// False when num_entries are out. Copies as many tensors as the head says.
  bool submit(const Submission& submission);
  /// Whether the daemon has not yet passed on, or refused, all that was submitted.
  bool has_untaken() const;

  // By one thread at a time, not necessarily the submitting thread.

  /// False if none is there.
  bool take(Completion& to);
  /// Looks for `spin_ns` if that has helped lately, then sleeps until there is a completion, the
  /// ring is closed, or `sleep_ns` have passed; may wake spuriously.
  void wait(std::int64_t spin_ns, std::int64_t sleep_ns);

  // From any thread.

  bool is_closed() const;
  /// Ends a `wait` of another thread, or the next one.
  void wake();

 private:
  RingControl& control() const { return *reinterpret_cast<RingControl*>(memory_.data()); }
  bool has_completion() const;

  const std::span<std::byte> memory_;
  const std::uint32_t num_entries_;
  std::uint32_t submitted_ = 0;
  std::uint32_t read_ = 0;
  std::atomic<bool> is_woken_ = false;
  SpinHabit habit_;
};

}  // namespace sluice::shm
