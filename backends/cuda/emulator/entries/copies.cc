// Copies and fills in the order of a stream.
//
// Pinned host memory is read and written when the copy runs, so a program that uses it before it
// waits sees the wrong bytes. Pageable memory is treated as the driver documents it: bytes for the
// device are taken before the call returns, and a copy to the host ends before it does.

#include <cstring>

#include "emulator/entries/entries.h"
#include "emulator/machine/machine.h"

namespace sluice::cuda::emulator {
namespace {

Fault with_name(Fault fault, const char* what) {
  if (!fault.is_none()) fault.text = std::string(what) + ": " + fault.text;
  return fault;
}

/// Refuses an address that no allocation has, before anything is submitted.
CuResult check_range(const Machine& machine, CuDevicePointer address, std::size_t bytes,
                     const char* what) {
  AddressSpace::Place place;
  const auto allocation = machine.memory.find(address);
  const bool is_promised = allocation != nullptr &&
                           allocation->state == Allocation::State::kPromised &&
                           bytes <= allocation->bytes - (address - allocation->address);
  if (is_promised) return CuResult::kSuccess;
  const Fault fault = with_name(machine.memory.resolve(address, bytes, &place), what);
  return fault.is_none() ? CuResult::kSuccess : explain(CuResult::kInvalidValue, fault.text);
}

Operation write_device(const Machine& machine, CuDevicePointer target, std::size_t bytes,
                       std::function<void(std::byte*)> write) {
  return [&memory = machine.memory, target, bytes, write = std::move(write)]() -> Fault {
    AddressSpace::Place place;
    Fault fault = with_name(memory.resolve(target, bytes, &place), "copy to the device");
    if (fault.is_none()) write(place.data);
    return fault;
  };
}

CuResult memcpy_htod_async(CuDevicePointer target, const void* source, std::size_t bytes,
                           CuStream stream_handle) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto stream = find_stream(machine, context, stream_handle);
    if (stream == nullptr) return CuResult::kInvalidHandle;
    if (bytes == 0) return CuResult::kSuccess;
    const auto result = check_range(machine, target, bytes, "cuMemcpyHtoDAsync");
    if (result != CuResult::kSuccess) return result;
    const bool late = machine.memory.is_pinned(source, bytes) || stream->capture != nullptr;
    std::shared_ptr<std::byte[]> taken;
    if (!late) {
      taken.reset(new std::byte[bytes]);
      std::memcpy(taken.get(), source, bytes);
    }
    const auto write = [taken, source, bytes](std::byte* data) {
      std::memcpy(data, taken != nullptr ? taken.get() : source, bytes);
    };
    return submit(machine, stream, {.run = write_device(machine, target, bytes, write)});
  });
}

CuResult memcpy_dtoh_async(void* target, CuDevicePointer source, std::size_t bytes,
                           CuStream stream_handle) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock& lock) {
    const auto stream = find_stream(machine, context, stream_handle);
    if (stream == nullptr) return CuResult::kInvalidHandle;
    if (bytes == 0) return CuResult::kSuccess;
    auto result = check_range(machine, source, bytes, "cuMemcpyDtoHAsync");
    if (result != CuResult::kSuccess) return result;
    Work work;
    work.run = [&memory = machine.memory, target, source, bytes]() -> Fault {
      AddressSpace::Place place;
      Fault fault = with_name(memory.resolve(source, bytes, &place), "copy to the host");
      if (fault.is_none()) std::memcpy(target, place.data, bytes);
      return fault;
    };
    const auto done = work.completes;
    const bool late = machine.memory.is_pinned(target, bytes) || stream->capture != nullptr;
    result = submit(machine, stream, std::move(work));
    if (late || result != CuResult::kSuccess) return result;
    return wait_until(machine, *context.device, lock, [&] { return done->is_reached; });
  });
}

CuResult copy_on_device(Machine& machine, const std::shared_ptr<Stream>& stream,
                        CuDevicePointer target, CuDevicePointer source, std::size_t bytes,
                        const char* what) {
  if (stream == nullptr) return CuResult::kInvalidHandle;
  if (bytes == 0) return CuResult::kSuccess;
  for (const CuDevicePointer address : {target, source}) {
    const auto result = check_range(machine, address, bytes, what);
    if (result != CuResult::kSuccess) return result;
  }
  Operation copy = [&memory = machine.memory, target, source, bytes, what]() -> Fault {
    AddressSpace::Place from;
    AddressSpace::Place to;
    Fault fault = with_name(memory.resolve(source, bytes, &from), what);
    if (fault.is_none()) fault = with_name(memory.resolve(target, bytes, &to), what);
    if (fault.is_none()) std::memmove(to.data, from.data, bytes);
    return fault;
  };
  return submit(machine, stream, {.run = std::move(copy)});
}

/// The device whose memory is at an address; null for pinned memory of the host.
const Device* owner_of(Machine& machine, CuDevicePointer address) {
  const auto allocation = machine.memory.find(address);
  return allocation == nullptr ? nullptr : machine.find_device(allocation->device);
}

CuResult memcpy_dtod_async(CuDevicePointer target, CuDevicePointer source, std::size_t bytes,
                           CuStream stream) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const Device* const to = owner_of(machine, target);
    const Device* const from = owner_of(machine, source);
    if (to != nullptr && from != nullptr && to != from) {
      return explain(CuResult::kInvalidValue, "cuMemcpyDtoDAsync: from device " +
                                                  std::to_string(from->ordinal) + " to device " +
                                                  std::to_string(to->ordinal) +
                                                  "; cuMemcpyPeerAsync copies between devices");
    }
    return copy_on_device(machine, find_stream(machine, context, stream), target, source, bytes,
                          "cuMemcpyDtoDAsync");
  });
}

CuResult memcpy_peer_async(CuDevicePointer target, CuContext target_context, CuDevicePointer source,
                           CuContext source_context, std::size_t bytes, CuStream stream) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    for (const auto& [address, named] :
         {std::pair(target, target_context), std::pair(source, source_context)}) {
      const auto found = machine.contexts.find(named);
      if (found == nullptr) return CuResult::kInvalidContext;
      // The stream may be of a third device.
      if (!found->device->error.is_none()) return explain(found->device->error);
      const Device* const owner = owner_of(machine, address);
      if (owner == nullptr || owner == found->device) continue;
      return explain(CuResult::kInvalidValue,
                     "cuMemcpyPeerAsync: " + address_text(address) + " is memory of device " +
                         std::to_string(owner->ordinal) + ", its context is of device " +
                         std::to_string(found->device->ordinal));
    }
    return copy_on_device(machine, find_stream(machine, context, stream), target, source, bytes,
                          "cuMemcpyPeerAsync");
  });
}

CuResult fill(CuDevicePointer target, std::uint32_t value, std::size_t element_bytes,
              std::size_t count, CuStream stream_handle) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto stream = find_stream(machine, context, stream_handle);
    if (stream == nullptr) return CuResult::kInvalidHandle;
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, element_bytes, &bytes) || target % element_bytes != 0) {
      return CuResult::kInvalidValue;
    }
    if (bytes == 0) return CuResult::kSuccess;
    const auto result = check_range(machine, target, bytes, "cuMemsetAsync");
    if (result != CuResult::kSuccess) return result;
    const auto write = [value, element_bytes, count](std::byte* data) {
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(data + i * element_bytes, &value, element_bytes);  // little-endian
      }
    };
    return submit(machine, stream, {.run = write_device(machine, target, bytes, write)});
  });
}

CuResult memset_d8_async(CuDevicePointer target, unsigned char value, std::size_t count,
                         CuStream stream) {
  return fill(target, value, 1, count, stream);
}

CuResult memset_d32_async(CuDevicePointer target, unsigned value, std::size_t count,
                          CuStream stream) {
  return fill(target, value, 4, count, stream);
}

}  // namespace

void fill_copy_entries(DriverTable& table) {
  table.memcpy_htod_async = memcpy_htod_async;
  table.memcpy_dtoh_async = memcpy_dtoh_async;
  table.memcpy_dtod_async = memcpy_dtod_async;
  table.memcpy_peer_async = memcpy_peer_async;
  table.memset_d8_async = memset_d8_async;
  table.memset_d32_async = memset_d32_async;
}

}  // namespace sluice::cuda::emulator
