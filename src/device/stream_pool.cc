#include "device/stream_pool.h"

#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice::device {

struct StreamPoolState {
  std::shared_ptr<const backend::Group> group;
  std::mutex mutex;
  std::vector<backend::Stream> unused;
  std::size_t num_streams = 0;
};

namespace {

bool is_done(backend::Stream& stream) {
  return stream.wait(std::chrono::nanoseconds(0)).code() != Code::kDeadlineExceeded;
}

}  // namespace

PooledStream& PooledStream::operator=(PooledStream&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(stream_, other.stream_);
  return *this;
}

PooledStream::~PooledStream() {
  if (!pool_) return;
  const std::lock_guard lock(pool_->mutex);
  pool_->unused.push_back(std::move(*stream_));
}

StreamPool::StreamPool(std::shared_ptr<const backend::Group> group)
    : state_(std::make_shared<StreamPoolState>()) {
  state_->group = std::move(group);
}

Result<PooledStream> StreamPool::take() {
  const std::lock_guard lock(state_->mutex);
  for (auto it = state_->unused.begin(); it != state_->unused.end(); ++it) {
    if (!is_done(*it)) continue;
    PooledStream stream(state_, std::move(*it));
    state_->unused.erase(it);
    return stream;
  }
  backend::Stream made = SLUICE_TRY(backend::Stream::create(state_->group));
  ++state_->num_streams;
  return PooledStream(state_, std::move(made));
}

std::size_t StreamPool::num_unused() const {
  const std::lock_guard lock(state_->mutex);
  return state_->unused.size();
}

std::size_t StreamPool::num_streams() const {
  const std::lock_guard lock(state_->mutex);
  return state_->num_streams;
}

}  // namespace sluice::device
