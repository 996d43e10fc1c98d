// The memory of all simulated devices: really host memory, counted against what each device has.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "description/description.h"

namespace sluice::sim {

class DeviceMemories {
 public:
  explicit DeviceMemories(const std::vector<Device>& devices);
  ~DeviceMemories();
  DeviceMemories(const DeviceMemories&) = delete;
  DeviceMemories& operator=(const DeviceMemories&) = delete;

  /// Fails: SLUICE_RESOURCE_EXHAUSTED, with the device's total and used bytes.
  Status allocate(int device, std::int64_t size_bytes, void** address);
  /// Bytes that it had; -1 if `address` is not ours.
  std::int64_t free(void* address);

  std::int64_t used_bytes(int device) const { return used_[static_cast<std::size_t>(device)]; }

  /// The device whose memory holds `address`; -1 for host memory.
  int device_of(const void* address) const;
  /// Bytes of the device from `address` to the end of what was allocated there; 0 if it is not
  /// memory of the device.
  std::int64_t room_at(int device, const void* address) const;

 private:
  struct Block {
    int device;
    std::int64_t size_bytes;
  };

  /// The block around an address, and the bytes from there to its end; null if there is none.
  const Block* find(const void* address, std::int64_t* room) const;

  std::vector<std::int64_t> capacity_;
  std::vector<std::int64_t> used_;
  std::map<std::uintptr_t, Block> blocks_;
};

}  // namespace sluice::sim
