#include "rpc/server/calls/idle_limit.h"

#include <grpcpp/alarm.h>

#include <chrono>
#include <mutex>
#include <utility>

namespace sluice::rpc::server {
namespace {

using std::chrono::system_clock;

}  // namespace

/// The alarm's callback may come while the IdleLimit goes, so it looks whether this is still there.
struct IdleLimit::State {
  std::mutex mutex;
  std::function<void()> on_idle;  ///< empty once it was called, or stopped
  std::chrono::nanoseconds limit = {};
  system_clock::time_point end;
  grpc::Alarm alarm;
};

IdleLimit::IdleLimit(std::int64_t limit_ns, std::function<void()> on_idle)
    : state_(std::make_shared<State>()) {
  state_->on_idle = std::move(on_idle);
  state_->limit = std::chrono::nanoseconds(limit_ns);
  state_->end = system_clock::now() + state_->limit;
  wait(state_);
}

/// One alarm, set again for the rest of the time whenever something happened meanwhile: a chunk
/// costs no alarm.
void IdleLimit::wait(const std::shared_ptr<State>& waiting) {
  const auto look = [weak = std::weak_ptr<State>(waiting)](bool /*is_due*/) {
    const auto state = weak.lock();
    if (state == nullptr) return;
    bool goes_on = false;
    {
      const std::lock_guard lock(state->mutex);
      if (!state->on_idle) return;
      goes_on = system_clock::now() < state->end;
      if (!goes_on) std::exchange(state->on_idle, nullptr)();
    }
    if (goes_on) wait(state);
  };
  std::unique_lock lock(waiting->mutex);
  const system_clock::time_point end = waiting->end;
  lock.unlock();
  waiting->alarm.Set(end, look);
}

void IdleLimit::restart() {
  const std::lock_guard lock(state_->mutex);
  state_->end = system_clock::now() + state_->limit;
}

void IdleLimit::stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->on_idle = nullptr;
  }
  state_->alarm.Cancel();
}

}  // namespace sluice::rpc::server
