#include "engine/memory.h"

#include <cstdlib>

#include "sluice/host_backend.hpp"

namespace sluice::sim {

DeviceMemories::DeviceMemories(const std::vector<Device>& devices) {
  for (const Device& device : devices) capacity_.push_back(device.memory_bytes);
  used_.resize(devices.size());
}

DeviceMemories::~DeviceMemories() {
  for (const auto& [address, block] : blocks_) {
    std::free(reinterpret_cast<void*>(address));  // NOLINT(performance-no-int-to-ptr)
  }
}

Status DeviceMemories::allocate(int device, std::int64_t size_bytes, void** address) {
  if (size_bytes < 0) {
    return plugin::invalid_argument("cannot allocate " + std::to_string(size_bytes) + " bytes");
  }
  const std::int64_t capacity = capacity_[static_cast<std::size_t>(device)];
  std::int64_t& used = used_[static_cast<std::size_t>(device)];
  if (size_bytes > capacity - used) {
    return {SLUICE_RESOURCE_EXHAUSTED,
            "device " + std::to_string(device) + " has " + std::to_string(capacity) +
                " bytes of memory and " + std::to_string(used) + " are used: " +
                std::to_string(size_bytes) + " more do not fit; free some, or use another device"};
  }
  if (const Status status = plugin::detail::allocate_aligned(size_bytes, address);
      // The simulated device's memory is the host's, which may be too small for it.
      !status.is_ok()) {
    return {status.code,
            "the host has no " + std::to_string(size_bytes) + " bytes to simulate with"};
  }
  used += size_bytes;
  blocks_[reinterpret_cast<std::uintptr_t>(*address)] = {device, size_bytes};
  return plugin::ok();
}

std::int64_t DeviceMemories::free(void* address) {
  const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == blocks_.end()) return -1;
  const Block block = found->second;
  blocks_.erase(found);
  used_[static_cast<std::size_t>(block.device)] -= block.size_bytes;
  std::free(address);
  return block.size_bytes;
}

const DeviceMemories::Block* DeviceMemories::find(const void* address, std::int64_t* room) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto found = blocks_.upper_bound(at);
  if (found == blocks_.begin()) return nullptr;
  --found;
  // The block before the first that starts behind the address, if it reaches that far.
  *room = found->second.size_bytes - static_cast<std::int64_t>(at - found->first);
  return *room > 0 ? &found->second : nullptr;
}

int DeviceMemories::device_of(const void* address) const {
  std::int64_t room = 0;
  const Block* const block = find(address, &room);
  return block == nullptr ? -1 : block->device;
}

std::int64_t DeviceMemories::room_at(int device, const void* address) const {
  std::int64_t room = 0;
  const Block* const block = find(address, &room);
  return block != nullptr && block->device == device ? room : 0;
}

}  // namespace sluice::sim
