#include "rpc/server/calls/idle_limit.h"

#include <grpcpp/alarm.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "rpc/wire/times.h"

namespace sluice::rpc::server {
/// The alarm's callback may come while the IdleLimit goes, so it looks whether this is still there.
struct IdleLimit::State {
  std::mutex mutex;
  std::function<void()> on_idle;  ///< empty once it was called, or stopped
  const Clock* clock = nullptr;
  std::int64_t limit_ns = 0;
  std::int64_t end_ns = 0;
  grpc::Alarm alarm;
};

IdleLimit::IdleLimit(std::int64_t limit_ns, std::function<void()> on_idle, const Clock& clock)
    : state_(std::make_shared<State>()) {
  state_->on_idle = std::move(on_idle);
  state_->clock = &clock;
  state_->limit_ns = limit_ns;
  state_->end_ns = clock.now_ns() + limit_ns;
  wait(state_);
}

/// One alarm, set again for the rest of the time or the next look: a chunk costs no alarm.
void IdleLimit::wait(const std::shared_ptr<State>& waiting) {
  const auto look = [weak = std::weak_ptr<State>(waiting)](bool /*is_due*/) {
    const auto state = weak.lock();
    if (state == nullptr) return;
    bool goes_on = false;
    {
      const std::lock_guard lock(state->mutex);
      if (!state->on_idle) return;
      goes_on = state->clock->now_ns() < state->end_ns;
      if (!goes_on) std::exchange(state->on_idle, nullptr)();
    }
    if (goes_on) wait(state);
  };
  std::unique_lock lock(waiting->mutex);
  const std::int64_t left_ns = waiting->end_ns - waiting->clock->now_ns();
  lock.unlock();
  waiting->alarm.Set(wire::after(std::clamp<std::int64_t>(left_ns, 0, wire::kLookNs)), look);
}

void IdleLimit::restart() {
  const std::lock_guard lock(state_->mutex);
  state_->end_ns = state_->clock->now_ns() + state_->limit_ns;
}

void IdleLimit::stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->on_idle = nullptr;
  }
  state_->alarm.Cancel();
}

}  // namespace sluice::rpc::server
