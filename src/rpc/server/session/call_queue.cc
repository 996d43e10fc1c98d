#include "rpc/server/session/call_queue.h"

#include <utility>

#include "base/clock.h"
#include "rpc/server/session/call.h"

namespace sluice::rpc::server {

void CallQueue::ask(Ask ask) {
  // Under the lock: once the loop has carried out the last ask, the queue may be gone.
  const std::lock_guard lock(mutex_);
  asks_.push_back(std::move(ask));
  // The loop's own thread runs the queue before it waits.
  if (asks_.size() == 1 && thread_.load() != std::this_thread::get_id()) wake_();
}

/// The vectors keep their memory.
void CallQueue::run() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      asks_.swap(taken_asks_);
    }
    for (Ask& one : taken_asks_) {
      Call& call = *one.call;
      call.carry_out(std::move(one));
    }
    events_.swap(taken_events_);
    if (taken_asks_.empty() && taken_events_.empty()) return;
    for (const Event& one : taken_events_) one.call->react(one);
    taken_asks_.clear();
    taken_events_.clear();
  }
}

void CallQueue::expire(std::int64_t now_ns) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
    const Due due = std::move(deadlines_.begin()->second);
    deadlines_.erase(deadlines_.begin());
    if (const auto call = due.call.lock()) call->expire(due.is_timer);
  }
}

std::int64_t CallQueue::next_deadline_ns() const {
  return deadlines_.empty() ? kNoDeadline : deadlines_.begin()->first;
}

void CallQueue::note_end() {
  if (num_calls_.fetch_sub(1) != 1) return;
  const std::lock_guard lock(mutex_);
  no_calls_.notify_all();
}

void CallQueue::wait_for_calls(std::int64_t end_ns) {
  Clock& clock = system_clock();
  std::unique_lock lock(mutex_);
  while (num_calls_.load() > 0 && clock.now_ns() < end_ns) {
    clock.wait_until(lock, no_calls_, end_ns);
  }
}

}  // namespace sluice::rpc::server
