#include "api/context_control.h"

#include <utility>

#include "base/clock.h"

namespace sluice::api {

// Sequentially consistent operations: a call costs microseconds, these cost nanoseconds. The next
// thread that takes the context sees what the last one wrote.

Status ContextControl::cancel() {
  State expected = State::kRunning;
  if (state_.compare_exchange_strong(expected, State::kCancelled) ||
      expected == State::kCancelled) {
    return ok_status();
  }
  return make_error(Code::kFailedPrecondition, "no run of the context is under way");
}

Status ContextControl::check(std::int64_t deadline_ns) const {
  if (state_.load() == State::kCancelled) {
    return make_error(Code::kCancelled, "the run was cancelled");
  }
  if (deadline_ns != kNoDeadline && system_clock().now_ns() > deadline_ns) {
    return make_error(Code::kDeadlineExceeded, "the run passed its time limit");
  }
  return ok_status();
}

Result<ContextUse> ContextUse::take(ContextControl& control, bool is_run) {
  using State = ContextControl::State;
  State expected = State::kIdle;
  const State wanted = is_run ? State::kRunning : State::kBusy;
  if (control.state_.compare_exchange_strong(expected, wanted)) return ContextUse(control);
  return make_error(Code::kFailedPrecondition,
                    "another call uses the context; give each thread a context of its own");
}

ContextUse::ContextUse(ContextUse&& other) noexcept
    : control_(std::exchange(other.control_, nullptr)) {}

ContextUse::~ContextUse() {
  if (control_ != nullptr) control_->state_.store(ContextControl::State::kIdle);
}

}  // namespace sluice::api
