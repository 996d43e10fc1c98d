// The daemon's side of a ring in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "base/clock.h"
#include "base/result.h"
#include "shm/ring_layout.h"
#include "shm/spin_habit.h"

namespace sluice::shm {

/// Treats the client as hostile: it reads every shared word once, checks the copy before use, and
/// keeps its own positions in private memory. A client that corrupts the ring gets an error or its
/// ring closed.
///
///     open --take finds nonsense, or close()--> closed
class RingServer {
 public:
  /// `memory` outlives the server. Fails: kInvalidArgument if it holds no ring of this version.
  static Result<RingServer> create(std::span<std::byte> memory);
  RingServer(RingServer&& other) noexcept;
  RingServer& operator=(RingServer&&) = delete;
  RingServer(const RingServer&) = delete;
  RingServer& operator=(const RingServer&) = delete;
  ~RingServer() = default;

  // By one thread at a time.

  enum class Take {
    kEntry,
    kNone,
    kBad,    ///< an invalid entry: `to.head.request` is its id, to be completed with an error
    kBroken  ///< the positions are inconsistent: the ring cannot be used any more
  };
  /// Copies the next submission, with as many tensors as its head says. The caller completes each
  /// kEntry and kBad once. At most `num_entries` submissions are uncompleted or unread. The next
  /// `take` tells the client that this submission was passed on.
  Take take(Submission& to);
  /// Looks for `spin_ns` if that has helped lately, then sleeps until there is something to take,
  /// somebody called `wake`, or `sleep_ns` have passed; may return for no reason.
  void wait(std::int64_t spin_ns, std::int64_t sleep_ns);
  /// Whether `take` has something to say.
  bool has_submission() const;

  // From any thread.

  void complete(const Completion& completion);
  void wake();
  /// Tells the client.
  void close();

  std::uint32_t num_entries() const { return num_entries_; }

 private:
  RingServer(std::span<std::byte> memory, std::uint32_t num_entries)
      : memory_(memory), num_entries_(num_entries) {}
  RingControl& control() const { return *reinterpret_cast<RingControl*>(memory_.data()); }

  const std::span<std::byte> memory_;
  const std::uint32_t num_entries_;
  std::uint32_t taken_ = 0;
  std::uint32_t published_ = 0;  ///< the submissions' head
  SpinHabit habit_;
  std::mutex completion_mutex_;
  std::uint32_t completed_ = 0;
};

}  // namespace sluice::shm
