// Memory of devices and pinned memory of the host.

#include "emulator/entries/entries.h"
#include "emulator/machine/capture.h"

namespace sluice::cuda::emulator {
namespace {

CuResult mem_alloc(CuDevicePointer* address, std::size_t bytes) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    if (bytes == 0) return CuResult::kInvalidValue;
    if (const auto result = check_no_capture(machine, "cuMemAlloc"); result != CuResult::kSuccess) {
      return result;
    }
    Device& device = *context.device;
    if (!fits(machine, device, bytes)) return out_of_memory(machine, device, bytes);
    *address = machine.memory.allocate(device.ordinal, bytes, Allocation::State::kLive)->address;
    device.used_bytes += rounded_bytes(bytes);
    return CuResult::kSuccess;
  });
}

/// Does not wait for work that uses the memory: the driver may, but does not promise to.
CuResult mem_free(CuDevicePointer address) {
  return call_in_context([&](Machine& machine, Context&, Scheduler::Lock&) {
    if (address == 0) return CuResult::kSuccess;
    if (const auto result = check_no_capture(machine, "cuMemFree"); result != CuResult::kSuccess) {
      return result;
    }
    const auto allocation = machine.memory.find(address);
    if (allocation == nullptr || allocation->address != address || allocation->pool != nullptr) {
      return explain(CuResult::kInvalidValue, address_text(address) + " is not of cuMemAlloc");
    }
    if (allocation->state == Allocation::State::kFreed) {
      return explain(CuResult::kInvalidValue, address_text(address) + " was freed before");
    }
    machine.memory.free(*allocation);
    machine.find_device(allocation->device)->used_bytes -= rounded_bytes(allocation->bytes);
    return CuResult::kSuccess;
  });
}

CuResult mem_get_info(std::size_t* free, std::size_t* total) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto index = static_cast<std::size_t>(context.device->ordinal);
    *total = static_cast<std::size_t>(machine.description.devices[index].memory_bytes);
    *free = *total - context.device->used_bytes;
    return CuResult::kSuccess;
  });
}

CuResult mem_host_alloc(void** address, std::size_t bytes, unsigned /*flags*/) {
  return call_in_context([&](Machine& machine, Context&, Scheduler::Lock&) {
    if (bytes == 0) return CuResult::kInvalidValue;
    auto memory = std::make_unique<std::byte[]>(bytes);
    *address = memory.get();
    machine.memory.pin(memory.get(), bytes);
    machine.host_allocations.emplace(*address, std::move(memory));
    return CuResult::kSuccess;
  });
}

CuResult mem_free_host(void* address) {
  return call_in_context([&](Machine& machine, Context&, Scheduler::Lock&) {
    const auto found = machine.host_allocations.find(address);
    if (found == machine.host_allocations.end()) return CuResult::kInvalidValue;
    machine.memory.unpin(address);
    machine.host_allocations.erase(found);
    return CuResult::kSuccess;
  });
}

CuResult mem_host_register(void* address, std::size_t bytes, unsigned /*flags*/) {
  return call_in_context([&](Machine& machine, Context&, Scheduler::Lock&) {
    if (address == nullptr || bytes == 0) return CuResult::kInvalidValue;
    return machine.memory.pin(address, bytes) ? CuResult::kSuccess
                                              : CuResult::kHostMemoryAlreadyRegistered;
  });
}

CuResult mem_host_unregister(void* address) {
  return call_in_context([&](Machine& machine, Context&, Scheduler::Lock&) {
    if (machine.host_allocations.contains(address)) return CuResult::kInvalidValue;
    return machine.memory.unpin(address) ? CuResult::kSuccess : CuResult::kHostMemoryNotRegistered;
  });
}

/// Host memory that is not pinned is not known to the driver.
CuResult pointer_get_attribute(void* value, CuPointerAttribute attribute, CuDevicePointer address) {
  return call_in_context([&](Machine& machine, Context&, Scheduler::Lock&) {
    AddressSpace::Place place;
    if (!machine.memory.resolve(address, 1, &place).is_none()) return CuResult::kInvalidValue;
    const Allocation* const found = place.allocation.get();
    if (attribute == CuPointerAttribute::kMemoryType) {
      *static_cast<CuMemoryType*>(value) =
          found == nullptr ? CuMemoryType::kHost : CuMemoryType::kDevice;
      return CuResult::kSuccess;
    }
    // The other attributes of pinned memory are not supported.
    if (found == nullptr) return CuResult::kNotSupported;
    switch (attribute) {
      case CuPointerAttribute::kDeviceOrdinal:
        *static_cast<int*>(value) = found->device;
        return CuResult::kSuccess;
      case CuPointerAttribute::kRangeStart:
        *static_cast<CuDevicePointer*>(value) = found->address;
        return CuResult::kSuccess;
      case CuPointerAttribute::kRangeSize:
        *static_cast<std::size_t*>(value) = found->bytes;
        return CuResult::kSuccess;
      default: return CuResult::kNotSupported;
    }
  });
}

}  // namespace

void fill_memory_entries(DriverTable& table) {
  table.mem_alloc = mem_alloc;
  table.mem_free = mem_free;
  table.mem_get_info = mem_get_info;
  table.mem_host_alloc = mem_host_alloc;
  table.mem_free_host = mem_free_host;
  table.mem_host_register = mem_host_register;
  table.mem_host_unregister = mem_host_unregister;
  table.pointer_get_attribute = pointer_get_attribute;
}

}  // namespace sluice::cuda::emulator
