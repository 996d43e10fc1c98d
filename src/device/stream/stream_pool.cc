#include "device/stream/stream_pool.h"

#include <chrono>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice::device {

struct StreamPoolState {
  std::shared_ptr<const backend::Group> group;
  StreamPoolOptions options;
  mutable std::mutex mutex;  ///< guards everything below
  std::vector<backend::Stream> idle;
  std::vector<backend::Stream> draining;  ///< returned with work; idle when it is done
  std::map<std::string, std::size_t, std::less<>> in_use;  ///< by owner
  std::size_t num_in_use = 0;
  std::size_t num_created = 0;

  Result<backend::Stream> make() {
    backend::Stream made = SLUICE_TRY(backend::Stream::create(group));
    ++num_created;
    return made;
  }
  std::size_t num_unused() const { return idle.size() + draining.size(); }
  void drain();
  void end_use(const std::string& owner);
};

namespace {

bool is_done(backend::Stream& stream) {
  return stream.wait(std::chrono::nanoseconds(0)).code() != Code::kDeadlineExceeded;
}

}  // namespace

/// Requires: `mutex`. `wait` also takes a stream's old error.
void StreamPoolState::drain() {
  for (std::size_t i = 0; i < draining.size();) {
    if (!is_done(draining[i])) {
      ++i;
      continue;
    }
    idle.push_back(std::move(draining[i]));
    draining[i] = std::move(draining.back());
    draining.pop_back();
  }
  // Streams with work stay, also beyond the limit: destroying one would wait.
  while (!idle.empty() && num_unused() > options.max_unused) idle.pop_back();
}

/// Requires: `mutex`.
void StreamPoolState::end_use(const std::string& owner) {
  --num_in_use;
  const auto use = in_use.find(owner);
  if (--use->second == 0) in_use.erase(use);
}

PooledStream& PooledStream::operator=(PooledStream&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(owner_, other.owner_);
  std::swap(stream_, other.stream_);
  return *this;
}

PooledStream::~PooledStream() {
  if (!pool_) return;
  const std::lock_guard lock(pool_->mutex);
  pool_->end_use(owner_);
  pool_->draining.push_back(std::move(*stream_));
  pool_->drain();
}

Result<StreamPool> StreamPool::create(std::shared_ptr<const backend::Group> group,
                                      const StreamPoolOptions& options) {
  if (options.made_ahead > options.max_unused) {
    return invalid_argument("streams: {} made ahead are more than the {} that may be unused",
                            options.made_ahead, options.max_unused);
  }
  auto state = std::make_shared<StreamPoolState>();
  state->group = std::move(group);
  state->options = options;
  StreamPool pool(std::move(state));
  SLUICE_TRY(pool.refill());
  return pool;
}

Result<PooledStream> StreamPool::take(std::string_view owner) {
  const std::lock_guard lock(state_->mutex);
  state_->drain();
  if (state_->idle.empty()) state_->idle.push_back(SLUICE_TRY(state_->make()));
  PooledStream taken(state_, std::string(owner), std::move(state_->idle.back()));
  state_->idle.pop_back();
  ++state_->num_in_use;
  ++state_->in_use[taken.owner_];
  return taken;
}

Status StreamPool::refill() {
  const std::lock_guard lock(state_->mutex);
  state_->drain();
  while (state_->num_unused() < state_->options.made_ahead) {
    state_->idle.push_back(SLUICE_TRY(state_->make()));
  }
  return ok_status();
}

std::size_t StreamPool::num_unused() const {
  const std::lock_guard lock(state_->mutex);
  return state_->num_unused();
}

std::size_t StreamPool::num_streams() const {
  const std::lock_guard lock(state_->mutex);
  return state_->num_unused() + state_->num_in_use;
}

std::size_t StreamPool::num_created() const {
  const std::lock_guard lock(state_->mutex);
  return state_->num_created;
}

std::vector<StreamUse> StreamPool::uses() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<StreamUse> uses;
  for (const auto& [owner, num_streams] : state_->in_use) uses.push_back({owner, num_streams});
  return uses;
}

}  // namespace sluice::device
