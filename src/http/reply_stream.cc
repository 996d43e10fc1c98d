#include "http/reply_stream.h"

namespace sluice::http {

bool ReplyStream::push(std::string_view bytes) {
  std::function<void()> on_ready;
  bool is_full = false;
  {
    const std::lock_guard lock(mutex_);
    waiting_ += bytes;
    is_full_ = waiting_.size() >= kMostWaiting;
    is_full = is_full_;
    on_ready = std::exchange(on_ready_, nullptr);
  }
  if (on_ready) on_ready();
  return !is_full;
}

void ReplyStream::end() {
  std::function<void()> on_ready;
  std::function<void()> resume;  // destroyed without the lock
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
    resume = std::exchange(resume_, nullptr);
    on_ready = std::exchange(on_ready_, nullptr);
  }
  if (on_ready) on_ready();
}

std::string ReplyStream::take() {
  std::string taken;
  std::function<void()> resume;
  {
    const std::lock_guard lock(mutex_);
    taken = std::exchange(waiting_, {});
    if (std::exchange(is_full_, false)) resume = resume_;
  }
  if (resume) resume();
  return taken;
}

bool ReplyStream::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_ended_ && waiting_.empty();
}

void ReplyStream::wait(std::function<void()> on_ready) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_ended_ && waiting_.empty()) {
      on_ready_ = std::move(on_ready);
      return;
    }
  }
  on_ready();
}

}  // namespace sluice::http
