// Primary contexts, the thread's current context, access between devices.

#include <algorithm>
#include <numeric>

#include "emulator/entries/entries.h"
#include "emulator/machine/capture.h"

namespace sluice::cuda::emulator {
namespace {

std::shared_ptr<Context> make_primary(Machine& machine, Device& device) {
  const auto& what = machine.description.devices[static_cast<std::size_t>(device.ordinal)];
  std::vector<int> all(static_cast<std::size_t>(what.multiprocessors));
  std::iota(all.begin(), all.end(), 0);
  return machine.make_context(device, std::move(all));
}

CuResult device_primary_ctx_retain(CuContext* context, CuDevice ordinal) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    Device* const device = machine.find_device(ordinal);
    if (device == nullptr) return CuResult::kInvalidDevice;
    if (!device->error.is_none()) return explain(device->error);
    if (device->primary == nullptr) {
      device->primary = machine.contexts.add(make_primary(machine, *device));
    }
    ++device->num_retained;
    *context = device->primary;
    return CuResult::kSuccess;
  });
}

template <typename Handle, typename Object, typename Belongs>
void remove_all(Registry<Handle, Object>& registry, const Belongs& belongs) {
  std::vector<Handle> gone;
  for (const auto& [handle, object] : registry.all()) {
    if (belongs(*object)) gone.push_back(handle);
  }
  for (const Handle handle : gone) registry.remove(handle);
}

/// Everything of a device's contexts goes; an error stays, as an H200 has it. Work that waits is
/// dropped; work that runs on other threads ends first.
void reset(Machine& machine, Device& device, Scheduler::Lock& lock) {
  machine.scheduler.drop(device);
  const auto is_idle = [&] {
    return std::ranges::none_of(machine.all_contexts, [&](const auto& context) {
      return context->device == &device && machine.scheduler.is_busy(*context);
    });
  };
  machine.scheduler.run_until(lock, is_idle);
  machine.memory.free_all(device.ordinal);
  remove_all(machine.pools,
             [&](const MemoryPool& pool) { return pool.device() == device.ordinal; });
  remove_all(machine.streams,
             [&](const Stream& stream) { return stream.context->device == &device; });
  remove_all(machine.green_contexts,
             [&](const Context& context) { return context.device == &device; });
  machine.contexts.remove(device.primary);
  device.primary = nullptr;
  device.used_bytes = 0;
  device.peers.clear();
  device.split_resources.clear();
}

CuResult device_primary_ctx_release(CuDevice ordinal) {
  return call([&](Machine& machine, Scheduler::Lock& lock) {
    Device* const device = machine.find_device(ordinal);
    if (device == nullptr) return CuResult::kInvalidDevice;
    if (device->num_retained == 0) return CuResult::kInvalidContext;
    if (--device->num_retained == 0) reset(machine, *device, lock);
    return CuResult::kSuccess;
  });
}

CuResult device_primary_ctx_reset(CuDevice ordinal) {
  return call([&](Machine& machine, Scheduler::Lock& lock) {
    Device* const device = machine.find_device(ordinal);
    if (device == nullptr) return CuResult::kInvalidDevice;
    if (device->primary != nullptr) reset(machine, *device, lock);
    return CuResult::kSuccess;
  });
}

CuResult ctx_set_current(CuContext context) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    if (context != nullptr && machine.contexts.find(context) == nullptr) {
      return CuResult::kInvalidContext;
    }
    thread_state().current = context;
    return CuResult::kSuccess;
  });
}

CuResult ctx_get_current(CuContext* context) {
  return call([&](Machine&, Scheduler::Lock&) {
    *context = thread_state().current;
    return CuResult::kSuccess;
  });
}

CuResult ctx_synchronize() {
  return call_in_context([](Machine& machine, Context& context, Scheduler::Lock& lock) {
    for (const auto& capture : machine.captures) {
      if (capture->origin->context->device == context.device) {
        return forbid_in_capture(*capture, "cuCtxSynchronize");
      }
    }
    return wait_until(machine, *context.device, lock,
                      [&] { return !machine.scheduler.is_busy(context); });
  });
}

CuResult ctx_enable_peer_access(CuContext peer_handle, unsigned flags) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto peer = machine.contexts.find(peer_handle);
    if (peer == nullptr) return CuResult::kInvalidContext;
    if (flags != 0) return CuResult::kInvalidValue;
    if (!machine.description.has_peer_access || peer->device == context.device) {
      return CuResult::kPeerAccessUnsupported;
    }
    const bool is_new = context.device->peers.insert(peer->device->ordinal).second;
    return is_new ? CuResult::kSuccess : CuResult::kPeerAccessAlreadyEnabled;
  });
}

CuResult ctx_disable_peer_access(CuContext peer_handle) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto peer = machine.contexts.find(peer_handle);
    if (peer == nullptr) return CuResult::kInvalidContext;
    const bool was_on = context.device->peers.erase(peer->device->ordinal) == 1;
    return was_on ? CuResult::kSuccess : CuResult::kPeerAccessNotEnabled;
  });
}

}  // namespace

void fill_context_entries(DriverTable& table) {
  table.device_primary_ctx_retain = device_primary_ctx_retain;
  table.device_primary_ctx_release = device_primary_ctx_release;
  table.device_primary_ctx_reset = device_primary_ctx_reset;
  table.ctx_set_current = ctx_set_current;
  table.ctx_get_current = ctx_get_current;
  table.ctx_synchronize = ctx_synchronize;
  table.ctx_enable_peer_access = ctx_enable_peer_access;
  table.ctx_disable_peer_access = ctx_disable_peer_access;
}

}  // namespace sluice::cuda::emulator
