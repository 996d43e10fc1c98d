// The clock of a plug-in that simulates its devices, its log of events, and faults on demand.
#pragma once

#include "backend/backend.h"
#include "base/clock.h"

struct sluice_virtual_time;

namespace sluice::backend {

/// A fault that was injected, until it is cleared.
enum class FaultId : std::int64_t {};

/// The clock of a simulating backend. Time advances when a thread waits, on a stream or on this
/// clock, and only as far as needed. Keeps the backend alive. Safe across threads. Deterministic
/// with one thread only: a waiting thread may move time past the moment at which another would have
/// submitted work.
class VirtualTime final : public Clock {
 public:
  /// Fails: kUnimplemented  the backend does not simulate
  ///        kInternal       its extension is broken
  static Result<std::shared_ptr<VirtualTime>> of(std::shared_ptr<const Backend> backend);

  /// Since the backend was created.
  std::int64_t now_ns() const override;
  /// Moves time to the next event or to `deadline_ns`, whichever comes first, and returns. Where
  /// neither will come, waits for another thread's notification.
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                  std::int64_t deadline_ns) override;

  /// When something will happen next if nothing more is submitted; kNoDeadline for never.
  std::int64_t next_event_ns() const;
  /// Lets everything up to and at `time_ns` happen. A time that has passed changes nothing.
  void advance_to(std::int64_t time_ns);
  void advance_by(std::int64_t duration_ns) { advance_to(now_ns() + duration_ns); }
  /// Advances until no event is left; hanging work keeps hanging.
  void run_until_idle();

  /// Everything that has happened, a line per event: `docs/sim.md` says how they read.
  std::string log() const;

  /// `fault`: JSON, as an entry of a description's "faults" (`docs/sim.md`).
  /// Fails: kInvalidArgument, naming the key.
  Result<FaultId> inject_fault(const std::string& fault);
  /// Ends the fault; what hangs because of it completes.
  /// Fails: kNotFound.
  Status clear_fault(FaultId id);
  Status clear_all_faults();
  /// A lost device comes back; running work of any device fails with kUnavailable.
  Status reset_device(int device);

  /// Bytes of the device that DeviceMemory objects hold now.
  /// Requires: the device is one of the backend's.
  std::int64_t memory_used_bytes(int device) const;

 private:
  VirtualTime(std::shared_ptr<const Backend> backend, const sluice_virtual_time* table)
      : backend_(std::move(backend)), table_(table) {}

  std::shared_ptr<const Backend> backend_;
  const sluice_virtual_time* table_;
};

}  // namespace sluice::backend
