// Memory that streams allocate and free.

#include "emulator/entries/entries.h"
#include "emulator/machine/capture.h"

namespace sluice::cuda::emulator {
namespace {

CuResult mem_pool_create(CuMemoryPool* handle, const CuMemoryPoolProperties* properties) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const CuLocation& where = properties->location;
    if (properties->allocation_type != CuAllocationType::kPinned) return CuResult::kInvalidValue;
    if (properties->handle_types != 0 || where.type != CuLocationType::kDevice) {
      return explain(CuResult::kNotSupported,
                     "the emulator has pools on devices, without exported handles");
    }
    if (machine.find_device(where.id) == nullptr) return CuResult::kInvalidDevice;
    *handle = machine.pools.add(std::make_shared<MemoryPool>(where.id));
    return CuResult::kSuccess;
  });
}

template <typename Body>
CuResult with_pool(CuMemoryPool handle, const Body& body) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const auto pool = machine.pools.find(handle);
    return pool != nullptr ? body(machine, *pool) : CuResult::kInvalidHandle;
  });
}

CuResult mem_pool_destroy(CuMemoryPool handle) {
  return with_pool(handle, [&](Machine& machine, const MemoryPool& pool) {
    machine.find_device(pool.device())->used_bytes -= pool.reserved_bytes();
    machine.pools.remove(handle);
    return CuResult::kSuccess;
  });
}

CuResult mem_pool_set_attribute(CuMemoryPool handle, CuMemoryPoolAttribute attribute, void* value) {
  return with_pool(handle, [&](Machine&, MemoryPool& pool) { return pool.set(attribute, value); });
}

CuResult mem_pool_get_attribute(CuMemoryPool handle, CuMemoryPoolAttribute attribute, void* value) {
  return with_pool(handle, [&](Machine&, MemoryPool& pool) { return pool.get(attribute, value); });
}

CuResult mem_pool_trim_to(CuMemoryPool handle, std::size_t min_bytes) {
  return with_pool(handle, [&](Machine& machine, MemoryPool& pool) {
    machine.find_device(pool.device())->used_bytes -= pool.trim_to(min_bytes);
    return CuResult::kSuccess;
  });
}

CuResult mem_pool_set_access(CuMemoryPool handle, const CuMemoryAccess* accesses,
                             std::size_t count) {
  return with_pool(handle, [&](Machine& machine, MemoryPool& pool) {
    for (std::size_t i = 0; i < count; ++i) {
      const CuMemoryAccess& wanted = accesses[i];
      if (machine.find_device(wanted.location.id) == nullptr) return CuResult::kInvalidDevice;
      if (wanted.location.id == pool.device()) {
        if (wanted.access == CuAccess::kReadWrite) continue;
        return CuResult::kInvalidValue;  // a device always reaches its own pool
      }
      if (!machine.description.has_peer_access) return CuResult::kPeerAccessUnsupported;
      std::erase(pool.reached_from, wanted.location.id);
      if (wanted.access != CuAccess::kNone) pool.reached_from.push_back(wanted.location.id);
    }
    return CuResult::kSuccess;
  });
}

CuResult mem_alloc_from_pool_async(CuDevicePointer* address, std::size_t bytes,
                                   CuMemoryPool pool_handle, CuStream stream_handle) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto pool = machine.pools.find(pool_handle);
    const auto stream = find_stream(machine, context, stream_handle);
    if (pool == nullptr || stream == nullptr) return CuResult::kInvalidHandle;
    if (bytes == 0) return CuResult::kInvalidValue;
    if (stream->capture != nullptr) {
      return explain(CuResult::kNotSupported, "the emulator has no memory nodes in graphs");
    }
    Device& device = *machine.find_device(pool->device());
    const std::uint64_t reserved = pool->take(bytes, *stream);
    if (!fits(machine, device, reserved)) {
      pool->cancel(bytes, reserved);
      return out_of_memory(machine, device, bytes);
    }
    const auto allocation =
        machine.memory.allocate(pool->device(), bytes, Allocation::State::kPromised);
    allocation->pool = pool_handle;
    device.used_bytes += reserved;
    *address = allocation->address;
    const Operation begin = [allocation]() -> Fault {
      allocation->state = Allocation::State::kLive;
      return {};
    };
    return submit(machine, stream, {.run = begin});
  });
}

CuResult mem_free_async(CuDevicePointer address, CuStream stream_handle) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto stream = find_stream(machine, context, stream_handle);
    if (stream == nullptr) return CuResult::kInvalidHandle;
    if (stream->capture != nullptr) {
      return explain(CuResult::kNotSupported, "the emulator has no memory nodes in graphs");
    }
    const auto allocation = machine.memory.find(address);
    const auto pool = allocation != nullptr ? machine.pools.find(allocation->pool) : nullptr;
    if (pool == nullptr || allocation->address != address || allocation->is_free_submitted) {
      return explain(CuResult::kInvalidValue, address_text(address) + " is not live pool memory");
    }
    allocation->is_free_submitted = true;
    Work work;
    work.run = [&memory = machine.memory, allocation]() -> Fault {
      memory.free(*allocation);
      return {};
    };
    pool->give_back(allocation->bytes, stream, work.completes);
    return submit(machine, stream, std::move(work));
  });
}

}  // namespace

void fill_pool_entries(DriverTable& table) {
  table.mem_pool_create = mem_pool_create;
  table.mem_pool_destroy = mem_pool_destroy;
  table.mem_pool_set_attribute = mem_pool_set_attribute;
  table.mem_pool_get_attribute = mem_pool_get_attribute;
  table.mem_pool_trim_to = mem_pool_trim_to;
  table.mem_pool_set_access = mem_pool_set_access;
  table.mem_alloc_from_pool_async = mem_alloc_from_pool_async;
  table.mem_free_async = mem_free_async;
}

}  // namespace sluice::cuda::emulator
