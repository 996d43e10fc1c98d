// Multiprocessors as resources, and green contexts.
//
// The rules are those of the driver's documentation: counts are rounded up (multiprocessors.h), a
// partition is not split again before a context was made of it, a descriptor joins only partitions
// of one split. Two splits of one device overlap without a word, as on a GPU.

#include <algorithm>
#include <cstring>

#include "emulator/entries/entries.h"
#include "emulator/machine/machine.h"
#include "emulator/machine/multiprocessors.h"

namespace sluice::cuda::emulator {
namespace {

const DeviceDescription& describe(const Machine& machine, CuDevice device) {
  return machine.description.devices[static_cast<std::size_t>(device)];
}

/// Writes a resource that the caller may pass back: `driver_data` holds its number here.
void write_resource(Machine& machine, Resource what, CuResource* resource) {
  const int number = machine.resources.empty() ? 1 : machine.resources.rbegin()->first + 1;
  const PartitionRule rule = partition_rule(describe(machine, what.device).major, false);
  *resource = {};
  resource->type = CuResourceType::kMultiprocessors;
  std::memcpy(resource->driver_data, &number, sizeof(number));
  resource->multiprocessors = {static_cast<unsigned>(what.multiprocessors.size()), rule.min_count,
                               rule.alignment};
  machine.resources.emplace(number, std::move(what));
}

const Resource* find_resource(const Machine& machine, const CuResource& resource) {
  if (resource.type != CuResourceType::kMultiprocessors) return nullptr;
  int number = 0;
  std::memcpy(&number, resource.driver_data, sizeof(number));
  const auto found = machine.resources.find(number);
  return found != machine.resources.end() ? &found->second : nullptr;
}

CuResult device_get_dev_resource(CuDevice device, CuResource* resource, CuResourceType type) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    if (machine.find_device(device) == nullptr) return CuResult::kInvalidDevice;
    if (type != CuResourceType::kMultiprocessors) return CuResult::kInvalidResourceType;
    Resource whole = {device, {}, 0};
    for (int i = 0; i < describe(machine, device).multiprocessors; ++i) {
      whole.multiprocessors.push_back(i);
    }
    write_resource(machine, std::move(whole), resource);
    return CuResult::kSuccess;
  });
}

CuResult dev_sm_resource_split_by_count(CuResource* groups, unsigned* num_groups,
                                        const CuResource* input, CuResource* rest, unsigned flags,
                                        unsigned min_count) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const Resource* const found = find_resource(machine, *input);
    if (found == nullptr) return CuResult::kInvalidResourceType;
    if ((flags & ~kSplitIgnoreCoscheduling) != 0) {
      return explain(CuResult::kNotSupported, "the emulator splits without clusters");
    }
    const Resource whole = *found;
    Device& device = *machine.find_device(whole.device);
    if (device.split_resources.contains(whole.split)) {
      return explain(CuResult::kInvalidResourceConfiguration,
                     "a part of a split is not split again before a green context has it");
    }
    const auto available = static_cast<unsigned>(whole.multiprocessors.size());
    const PartitionRule rule = partition_rule(describe(machine, whole.device).major,
                                              (flags & kSplitIgnoreCoscheduling) != 0);
    const unsigned wanted = groups == nullptr ? available : *num_groups;
    const std::vector<unsigned> sizes = split_by_count(available, wanted, min_count, rule);
    if (sizes.empty()) return CuResult::kInvalidResourceConfiguration;
    *num_groups = static_cast<unsigned>(sizes.size());
    if (groups == nullptr) return CuResult::kSuccess;  // only asked
    const int split = machine.resources.rbegin()->first + 1;
    device.split_resources.insert(split);
    auto next = whole.multiprocessors.begin();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto end = next + sizes[i];
      write_resource(machine, {whole.device, {next, end}, split}, &groups[i]);
      next = end;
    }
    if (rest != nullptr) {
      write_resource(machine, {whole.device, {next, whole.multiprocessors.end()}, split}, rest);
      if (next == whole.multiprocessors.end()) rest->type = CuResourceType::kInvalid;
    }
    return CuResult::kSuccess;
  });
}

CuResult dev_resource_generate_desc(CuResourceDescriptor* handle, CuResource* resources,
                                    unsigned num_resources) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    auto descriptor = std::make_shared<ResourceDescriptor>();
    for (unsigned i = 0; i < num_resources; ++i) {
      const Resource* const part = find_resource(machine, resources[i]);
      if (part == nullptr) return CuResult::kInvalidResourceType;
      descriptor->device = part->device;
      descriptor->splits.insert(part->split);
      for (const int one : part->multiprocessors) descriptor->multiprocessors.push_back(one);
    }
    if (descriptor->splits.size() != 1) {
      return explain(CuResult::kInvalidResourceConfiguration,
                     "the parts of a green context come from one split");
    }
    *handle = machine.descriptors.add(std::move(descriptor));
    return CuResult::kSuccess;
  });
}

CuResult green_ctx_create(CuGreenContext* handle, CuResourceDescriptor descriptor_handle,
                          CuDevice ordinal, unsigned flags) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const auto descriptor = machine.descriptors.find(descriptor_handle);
    Device* const device = machine.find_device(ordinal);
    if (device == nullptr) return CuResult::kInvalidDevice;
    if (descriptor == nullptr || descriptor->device != ordinal ||
        flags != kGreenContextDefaultStream) {
      return CuResult::kInvalidValue;
    }
    if (device->primary == nullptr) return CuResult::kInvalidContext;
    for (const int split : descriptor->splits) device->split_resources.erase(split);
    const auto context = machine.make_context(*device, descriptor->multiprocessors);
    context->is_green = true;
    *handle = machine.green_contexts.add(context);
    return CuResult::kSuccess;
  });
}

CuResult green_ctx_destroy(CuGreenContext handle) {
  return call([&](Machine& machine, Scheduler::Lock& lock) {
    const auto context = machine.green_contexts.remove(handle);
    if (context == nullptr) return CuResult::kInvalidHandle;
    return wait_until(machine, *context->device, lock,
                      [&] { return !machine.scheduler.is_busy(*context); });
  });
}

CuResult green_ctx_get_dev_resource(CuGreenContext handle, CuResource* resource,
                                    CuResourceType type) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const auto context = machine.green_contexts.find(handle);
    if (context == nullptr) return CuResult::kInvalidHandle;
    if (type != CuResourceType::kMultiprocessors) return CuResult::kInvalidResourceType;
    write_resource(machine, {context->device->ordinal, context->multiprocessors, 0}, resource);
    return CuResult::kSuccess;
  });
}

CuResult green_ctx_stream_create(CuStream* handle, CuGreenContext green, unsigned flags,
                                 int /*priority*/) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const auto context = machine.green_contexts.find(green);
    if (context == nullptr) return CuResult::kInvalidHandle;
    if (flags != kStreamNonBlocking) return CuResult::kInvalidValue;
    auto stream = std::make_shared<Stream>();
    stream->context = context.get();
    *handle = machine.streams.add(std::move(stream));
    return CuResult::kSuccess;
  });
}

}  // namespace

void fill_partition_entries(DriverTable& table) {
  table.device_get_dev_resource = device_get_dev_resource;
  table.dev_sm_resource_split_by_count = dev_sm_resource_split_by_count;
  table.dev_resource_generate_desc = dev_resource_generate_desc;
  table.green_ctx_create = green_ctx_create;
  table.green_ctx_destroy = green_ctx_destroy;
  table.green_ctx_get_dev_resource = green_ctx_get_dev_resource;
  table.green_ctx_stream_create = green_ctx_stream_create;
}

}  // namespace sluice::cuda::emulator
