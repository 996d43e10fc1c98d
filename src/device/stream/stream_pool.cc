#include "device/stream/stream_pool.h"

#include <chrono>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice::device {

struct StreamPoolState {
  StreamPoolState() = default;
  /// Its streams go with it.
  ~StreamPoolState() {
    if (ledger != nullptr) ledger->replace(told, {0, 0, told.made, told.drained});
  }
  StreamPoolState(const StreamPoolState&) = delete;
  StreamPoolState& operator=(const StreamPoolState&) = delete;

  std::shared_ptr<const backend::Group> group;
  StreamPoolOptions options;
  std::shared_ptr<StreamLedger> ledger;  ///< null: none
  mutable std::mutex mutex;              ///< guards everything below
  std::vector<backend::Stream> idle;
  std::vector<backend::Stream> draining;  ///< returned with work; idle when it is done
  std::map<std::string, std::size_t, std::less<>> in_use;  ///< by owner
  std::size_t num_in_use = 0;
  std::size_t num_created = 0;
  std::size_t num_drained = 0;
  StreamLedger::Entry told;  ///< to the ledger

  Result<backend::Stream> make() {
    backend::Stream made = SLUICE_TRY(backend::Stream::create(group));
    ++num_created;
    return made;
  }
  std::size_t num_unused() const { return idle.size() + draining.size(); }
  void drain();
  void begin_use(const std::string& owner);
  void end_use(const std::string& owner);
  void tell();
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
    ++num_drained;
    idle.push_back(std::move(draining[i]));
    draining[i] = std::move(draining.back());
    draining.pop_back();
  }
  // Streams with work stay, also beyond the limit: destroying one would wait.
  while (!idle.empty() && num_unused() > options.max_unused) idle.pop_back();
}

/// Requires: `mutex`. After each change of the streams.
void StreamPoolState::tell() {
  if (ledger == nullptr) return;
  const StreamLedger::Entry now = {
      static_cast<std::int64_t>(idle.size()), static_cast<std::int64_t>(draining.size()),
      static_cast<std::int64_t>(num_created), static_cast<std::int64_t>(num_drained)};
  ledger->replace(told, now);
  told = now;
}

/// Requires: `mutex`.
void StreamPoolState::begin_use(const std::string& owner) {
  ++num_in_use;
  ++in_use[owner];
  if (ledger != nullptr) ledger->change_use(owner, 1);
}

/// Requires: `mutex`.
void StreamPoolState::end_use(const std::string& owner) {
  if (ledger != nullptr) ledger->change_use(owner, -1);
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
  pool_->tell();
}

Result<StreamPool> StreamPool::create(std::shared_ptr<const backend::Group> group,
                                      const StreamPoolOptions& options,
                                      std::shared_ptr<StreamLedger> ledger) {
  if (options.made_ahead > options.max_unused) {
    return invalid_argument("streams: {} made ahead are more than the {} that may be unused",
                            options.made_ahead, options.max_unused);
  }
  auto state = std::make_shared<StreamPoolState>();
  state->group = std::move(group);
  state->options = options;
  state->ledger = std::move(ledger);
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
  state_->begin_use(taken.owner_);
  state_->tell();
  return taken;
}

Status StreamPool::refill() {
  const std::lock_guard lock(state_->mutex);
  state_->drain();
  while (state_->num_unused() < state_->options.made_ahead) {
    auto made = state_->make();
    if (!made.is_ok()) {
      state_->tell();
      return made.status();
    }
    state_->idle.push_back(std::move(*made));
  }
  state_->tell();
  return ok_status();
}

std::int64_t StreamUsage::num_in_use() const {
  std::int64_t sum = 0;
  for (const auto& [owner, count] : in_use) sum += count;
  return sum;
}

StreamUsage StreamLedger::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

void StreamLedger::replace(const Entry& before, const Entry& now) {
  const std::lock_guard lock(mutex_);
  usage_.unused += now.unused - before.unused;
  usage_.draining += now.draining - before.draining;
  usage_.made += now.made - before.made;
  usage_.drained += now.drained - before.drained;
}

void StreamLedger::change_use(const std::string& owner, std::int64_t by) {
  const std::lock_guard lock(mutex_);
  const auto use = usage_.in_use.try_emplace(owner, 0).first;
  use->second += by;
  if (use->second == 0) usage_.in_use.erase(use);
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
