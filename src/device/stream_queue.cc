#include "device/stream_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::device {

EventPtr StreamQueue::submit(StreamWork work) {
  auto event = std::make_shared<Event>();
  waiting_.push_back({std::move(work), event});
  return event;
}

bool StreamQueue::step() {
  bool has_moved = false;
  while (poll_running() || start_next()) has_moved = true;
  return has_moved;
}

void StreamQueue::cancel_waiting() {
  for (Entry& entry : std::exchange(waiting_, {})) {
    entry.event->signal(Status(Code::kCancelled, "cancelled before it started"));
  }
}

bool StreamQueue::poll_running() {
  if (!running_) return false;
  Status status = stream_->wait(std::chrono::nanoseconds(0));
  if (status.code() == Code::kDeadlineExceeded) return false;
  finish(std::move(status));
  return true;
}

bool StreamQueue::start_next() {
  if (running_ || waiting_.empty()) return false;
  const auto& after = waiting_.front().work.after;
  if (std::ranges::any_of(after, [](const EventPtr& event) { return event->is_pending(); })) {
    return false;
  }
  running_ = std::move(waiting_.front());
  waiting_.pop_front();
  const auto failed = std::ranges::find_if(
      running_->work.after, [](const EventPtr& event) { return !event->status().is_ok(); });
  if (failed != running_->work.after.end()) {
    finish((*failed)->status().with_context("what it waits for failed"));
    return true;
  }
  Status status = stream_->submit(*running_->work.list, running_->work.bindings);
  if (!status.is_ok()) finish(std::move(status));
  return true;
}

void StreamQueue::finish(Status status) {
  const Entry entry = std::move(*running_);
  running_.reset();
  entry.event->signal(std::move(status));
}

}  // namespace sluice::device
