// A client's memory that the daemon reads and writes where it is.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "service/places.h"
#include "shm/shared_memory.h"

namespace sluice::rpc {

/// Memory made by Client::share. Tensors that lie in it are sent by their place alone. Unmapped
/// when the last owner lets go; the daemon keeps its own mapping until it is unregistered.
class SharedTensors {
 public:
  SharedTensors(shm::SharedMemory memory, std::uint64_t region)
      : memory_(std::move(memory)), region_(region) {}

  std::span<std::byte> memory() const { return memory_.memory(); }
  std::uint64_t region() const { return region_; }

 private:
  const shm::SharedMemory memory_;
  const std::uint64_t region_;
};

/// What a client shares, by address. Safe across threads.
class SharedTable {
 public:
  void add(const std::shared_ptr<SharedTensors>& shared);
  void remove(std::uint64_t region);
  /// Where `size_bytes` at `data` lie; nothing unless all of them are shared, at an offset that the
  /// daemon takes.
  std::optional<service::Place> find(const void* data, std::int64_t size_bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, std::weak_ptr<SharedTensors>> by_address_;
};

}  // namespace sluice::rpc
