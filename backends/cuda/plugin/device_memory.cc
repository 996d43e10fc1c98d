// Memory of the backend's devices: where it lies, and copies between it and the host's.

#include <array>
#include <cstdio>

#include "plugin/backend.h"

namespace sluice::cuda {
namespace {

CuDevicePointer device_pointer(const void* address) {
  return reinterpret_cast<CuDevicePointer>(address);
}

}  // namespace

Status Backend::allocate(std::int32_t device, std::int64_t size_bytes, void** address) {
  if (size_bytes < 0) return plugin::invalid_argument("memory of a negative size");
  if (Status status = enter(device); !status.is_ok()) return status;
  CuDevicePointer pointer = 0;
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(size_bytes, 1));
  Status status = check_call(
      driver_, driver_.table.mem_alloc(&pointer, bytes),
      "allocating " + std::to_string(size_bytes) + " bytes on device " + std::to_string(device));
  if (status.code == SLUICE_RESOURCE_EXHAUSTED) {
    status.text += "; load fewer models, or give it smaller inputs";
  }
  if (!status.is_ok()) return status;
  *address = reinterpret_cast<void*>(pointer);
  const std::lock_guard lock(mutex_);
  allocations_.emplace(pointer, Allocation{static_cast<std::int64_t>(bytes), device});
  return plugin::ok();
}

void Backend::release(std::int32_t device, void* address) {
  {
    const std::lock_guard lock(mutex_);
    allocations_.erase(device_pointer(address));
  }
  if (enter(device).is_ok()) driver_.table.mem_free(device_pointer(address));
}

Status Backend::locate(const void* address, CuDevice* device) const {
  const std::uintptr_t place = device_pointer(address);
  {
    const std::lock_guard lock(mutex_);
    const auto after = allocations_.upper_bound(place);
    if (after != allocations_.begin()) {
      const auto& [start, allocation] = *std::prev(after);
      *device = allocation.device;
      if (place - start < static_cast<std::uintptr_t>(allocation.bytes)) return plugin::ok();
    }
  }
  *device = kOfHost;
  // Others of the process allocate too, such as torch. The driver knows which of the host's memory
  // is pinned. A device that failed answers nothing: its memory must not pass for the host's.
  using enum CuPointerAttribute;
  const DriverTable& cu = driver_.table;
  CuMemoryType type = CuMemoryType::kHost;
  CuResult result = cu.pointer_get_attribute(&type, kMemoryType, place);
  if (result == CuResult::kInvalidValue) return plugin::ok();
  if (result == CuResult::kSuccess && type == CuMemoryType::kDevice) {
    result = cu.pointer_get_attribute(device, kDeviceOrdinal, place);
  }
  return check_call(driver_, result, "asking where memory lies");
}

Status Backend::check_memory(std::int32_t device, const void* address, std::int64_t size_bytes) {
  if (Status status = enter(device); !status.is_ok()) return status;
  CuDevice owner = kOfHost;
  if (Status status = locate(address, &owner); !status.is_ok()) return status;
  const CuDevicePointer begin = device_pointer(address);
  const auto refuse = [&](std::string_view reason) {
    std::array<char, 2 + 16 + 1> place = {};
    std::snprintf(place.data(), place.size(), "%#llx", static_cast<unsigned long long>(begin));
    return plugin::invalid_argument(std::to_string(size_bytes) + " bytes at " + place.data() + " " +
                                    std::string(reason));
  };
  if (owner == kOfHost) return refuse("are memory of no device, or were freed");
  if (owner != device) {
    return refuse("are memory of device " + std::to_string(owner) + ", not of device " +
                  std::to_string(device));
  }
  using enum CuPointerAttribute;
  const DriverTable& cu = driver_.table;
  // The driver does not know the range of every kind of memory.
  CuDevicePointer start = 0;
  std::size_t bytes = 0;
  if (cu.pointer_get_attribute(&start, kRangeStart, begin) == CuResult::kSuccess &&
      cu.pointer_get_attribute(&bytes, kRangeSize, begin) == CuResult::kSuccess &&
      (size_bytes < 0 || static_cast<std::size_t>(size_bytes) > bytes - (begin - start))) {
    return refuse("pass the end of an allocation of " + std::to_string(bytes));
  }
  return plugin::ok();
}

Status Backend::copy(Stream& stream, const plugin::detail::Command& command,
                     std::span<void* const> bindings) {
  void* const source = plugin::detail::address_of(command.inputs[0], bindings);
  void* const target = plugin::detail::address_of(command.outputs[0], bindings);
  const auto bytes = static_cast<std::size_t>(command.size_bytes);
  if (bytes == 0) return plugin::ok();
  CuDevice from = kOfHost;
  CuDevice to = kOfHost;
  Status status = locate(source, &from);
  if (status.is_ok()) status = locate(target, &to);
  if (!status.is_ok()) return status;
  if (to == kOfHost) {
    if (from == kOfHost) {
      return plugin::invalid_argument("a copy from host to host; one side is memory of a device");
    }
    return stream.copies.to_host(driver_, stream.handle, command.outputs[0], bindings,
                                 device_pointer(source), bytes);
  }
  if (from == kOfHost) {
    return stream.copies.to_device(driver_, stream.handle, device_pointer(target),
                                   command.inputs[0], bindings, bytes);
  }
  if (from != to) {
    return copy_to_peer(stream, {device_pointer(target), to}, {device_pointer(source), from},
                        bytes);
  }
  const CuResult result = driver_.table.memcpy_dtod_async(
      device_pointer(target), device_pointer(source), bytes, stream.handle);
  return check_call(driver_, result, "copying " + std::to_string(bytes) + " bytes");
}

Status Backend::copy_to_peer(Stream& stream, const DevicePlace& target, const DevicePlace& source,
                             std::size_t bytes) {
  for (const CuDevice peer : {target.device, source.device}) {
    if (peer != stream.group->device) reach_peer(stream.group->device, peer);
  }
  const auto context_of = [&](CuDevice device) {
    return contexts_[static_cast<std::size_t>(device)];
  };
  const CuResult result =
      driver_.table.memcpy_peer_async(target.address, context_of(target.device), source.address,
                                      context_of(source.device), bytes, stream.handle);
  return check_call(driver_, result,
                    "copying " + std::to_string(bytes) + " bytes from device " +
                        std::to_string(source.device) + " to device " +
                        std::to_string(target.device));
}

void Backend::reach_peer(CuDevice device, CuDevice peer) {
  {
    const std::lock_guard lock(mutex_);
    if (!reached_.emplace(device, peer).second) return;
  }
  const DriverTable& cu = driver_.table;
  int can = 0;
  if (cu.device_can_access_peer(&can, device, peer) != CuResult::kSuccess || can == 0) return;
  // Without access, or where another library has switched it on, the copy works as well. A device
  // that failed is told by the copy.
  cu.ctx_enable_peer_access(contexts_[static_cast<std::size_t>(peer)], 0);
}

}  // namespace sluice::cuda
