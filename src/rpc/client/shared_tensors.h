// A client's memory that the daemon reads and writes where it is.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "shm/shared_memory.h"
#include "terms/tensors/exchange.h"

namespace sluice::rpc::client {

/// Memory made by Client::share. Requests refer to tensors in it by region slice. The last owner
/// unmaps it; the daemon keeps its own mapping until the region is unregistered.
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
  /// The region slice of `size_bytes` at `data`; nullopt unless all bytes are shared and the offset
  /// is aligned.
  std::optional<terms::RegionSlice> find(const void* data, std::int64_t size_bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, std::weak_ptr<SharedTensors>> by_address_;
};

}  // namespace sluice::rpc::client
