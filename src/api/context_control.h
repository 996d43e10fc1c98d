// Who uses a context, and whether its run is to end.
//
//   idle --take--> busy --release--> idle
//   idle --take for a run--> running --cancel--> cancelled --release--> idle
#pragma once

#include <atomic>
#include <cstdint>

#include "base/result.h"

namespace sluice::api {

/// Controls one context. Safe from any thread.
class ContextControl {
 public:
  /// Ends the run under way before its next segment, step range or iteration.
  /// Fails: kFailedPrecondition if no run is under way.
  Status cancel();

  /// For runs: fails once the run was cancelled or `deadline_ns` of the system clock has passed.
  Status check(std::int64_t deadline_ns) const;

 private:
  friend class ContextUse;
  enum class State { kIdle, kBusy, kRunning, kCancelled };
  std::atomic<State> state_ = State::kIdle;
};

/// The calling thread's use of a context until the end of the scope.
class ContextUse {
 public:
  /// Takes the context for a call, or for a run, which can be cancelled.
  /// Fails: kFailedPrecondition while another call, of this or another thread, uses it.
  static Result<ContextUse> take(ContextControl& control, bool is_run = false);
  ContextUse(ContextUse&& other) noexcept;
  ContextUse(const ContextUse&) = delete;
  ContextUse& operator=(const ContextUse&) = delete;
  ~ContextUse();

 private:
  explicit ContextUse(ContextControl& control) : control_(&control) {}
  ContextControl* control_;
};

}  // namespace sluice::api
