#include "device/memory_pool.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <utility>

#include "base/checked.h"

namespace sluice::device {

/// Shared by the pool and the memory it lends. All members but `source` and `options` are guarded
/// by `mutex`; the device allocates and frees under it, so that `usage.held` is never exceeded.
struct MemoryPoolState {
  MemoryPool::Source source;
  MemoryPoolOptions options;
  std::mutex mutex;
  MemoryUsage usage;
  std::multimap<std::int64_t, std::unique_ptr<backend::DeviceMemory>> idle;  // by size

  std::unique_ptr<backend::DeviceMemory> take_idle(std::int64_t size_bytes);
  Result<std::unique_ptr<backend::DeviceMemory>> grow(std::int64_t size_bytes);
  void shrink_to(std::int64_t max_idle_bytes);
  void give_back(std::unique_ptr<backend::DeviceMemory> block);
};

namespace {

constexpr std::int64_t kSmallestBlockBytes = 256;

}  // namespace

std::optional<std::int64_t> MemoryPool::block_bytes(std::int64_t size_bytes) {
  const std::int64_t size = std::max(size_bytes, kSmallestBlockBytes);
  const auto power = std::bit_floor(static_cast<std::uint64_t>(size));
  // Eight sizes per power of two: at most an eighth is wasted, and blocks of similar requests are
  // interchangeable.
  return checked_align(size, std::max(static_cast<std::int64_t>(power / 8), backend::kAlignment));
}

std::unique_ptr<backend::DeviceMemory> MemoryPoolState::take_idle(std::int64_t size_bytes) {
  const auto it = idle.lower_bound(size_bytes);
  // A block more than a quarter too large would waste more than a new allocation costs.
  const bool is_close = it != idle.end() && it->first - size_bytes <= size_bytes / 4;
  if (!is_close) return nullptr;
  auto block = std::move(it->second);
  usage.idle_bytes -= it->first;
  idle.erase(it);
  return block;
}

Result<std::unique_ptr<backend::DeviceMemory>> MemoryPoolState::grow(std::int64_t size_bytes) {
  // Idle blocks count as held: they go before a request is refused.
  if (size_bytes > options.limit_bytes - usage.held.bytes) shrink_to(0);
  if (size_bytes > options.limit_bytes - usage.held.bytes) {
    return make_error(Code::kResourceExhausted, "{} of {} bytes allowed are in use",
                      usage.held.bytes, options.limit_bytes);
  }
  auto block = source(size_bytes);
  // The device may have less than the limit: others use it, too.
  if (!block.is_ok() && block.status().code() == Code::kResourceExhausted && !idle.empty()) {
    shrink_to(0);
    block = source(size_bytes);
  }
  if (!block.is_ok()) return std::move(block).status();
  usage.held.change(size_bytes);
  usage.grown_bytes += size_bytes;
  return std::make_unique<backend::DeviceMemory>(std::move(block).value());
}

void MemoryPoolState::shrink_to(std::int64_t max_idle_bytes) {
  // Largest first: few frees give back much, and small blocks are the ones most often reused.
  while (usage.idle_bytes > max_idle_bytes) {
    const auto largest = std::prev(idle.end());
    usage.idle_bytes -= largest->first;
    usage.shrunk_bytes += largest->first;
    usage.held.change(-largest->first);
    idle.erase(largest);
  }
}

void MemoryPoolState::give_back(std::unique_ptr<backend::DeviceMemory> block) {
  const std::int64_t size_bytes = block->size_bytes();
  usage.idle_bytes += size_bytes;
  idle.emplace(size_bytes, std::move(block));
  shrink_to(options.slack_bytes);
}

PooledMemory::PooledMemory(PooledMemory&& other) noexcept = default;

PooledMemory& PooledMemory::operator=(PooledMemory&& other) noexcept {
  // The destructor of `other` gives back what this held.
  std::swap(pool_, other.pool_);
  std::swap(block_, other.block_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(client_, other.client_);
  std::swap(category_, other.category_);
  return *this;
}

PooledMemory::~PooledMemory() {
  if (!block_) return;
  const std::lock_guard lock(pool_->mutex);
  pool_->usage.change(client_, category_, -size_bytes_);
  pool_->give_back(std::move(block_));
}

MemoryPool MemoryPool::of_device(std::shared_ptr<const backend::Backend> backend, int device,
                                 const MemoryPoolOptions& options) {
  return MemoryPool(
      [backend = std::move(backend), device](std::int64_t size_bytes) {
        return backend::DeviceMemory::allocate(backend, device, size_bytes);
      },
      options);
}

MemoryPool::MemoryPool(Source source, const MemoryPoolOptions& options)
    : state_(std::make_shared<MemoryPoolState>()) {
  state_->source = std::move(source);
  state_->options = options;
}

Result<PooledMemory> MemoryPool::allocate(std::int64_t size_bytes, std::string_view client,
                                          MemoryCategory category) {
  const auto block_bytes = size_bytes < 0 ? std::nullopt : MemoryPool::block_bytes(size_bytes);
  if (!block_bytes) return invalid_argument("{}: no memory has {} bytes", client, size_bytes);
  const std::lock_guard lock(state_->mutex);
  auto block = state_->take_idle(*block_bytes);
  if (!block) {
    auto grown = state_->grow(*block_bytes);
    if (!grown.is_ok()) {
      return Status(grown.status().code(),
                    fmt::format("{}: no {} bytes for {}: {}; in use by {}", client, size_bytes,
                                memory_category_name(category), grown.status().message(),
                                state_->usage.describe()));
    }
    block = std::move(grown).value();
  }
  state_->usage.change(client, category, size_bytes);
  PooledMemory memory;
  memory.pool_ = state_;
  memory.block_ = std::move(block);
  memory.size_bytes_ = size_bytes;
  memory.client_ = client;
  memory.category_ = category;
  return memory;
}

MemoryUsage MemoryPool::usage() const {
  const std::lock_guard lock(state_->mutex);
  return state_->usage;
}

void MemoryPool::release_idle() {
  const std::lock_guard lock(state_->mutex);
  state_->shrink_to(0);
}

}  // namespace sluice::device
