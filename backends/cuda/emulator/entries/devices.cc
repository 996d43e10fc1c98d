// Driver, devices and their attributes.

#include <cstring>

#include "emulator/entries/entries.h"
#include "emulator/machine/limits.h"
#include "emulator/machine/machine.h"

namespace sluice::cuda::emulator {
namespace {

CuResult init(unsigned flags) {
  return call([&](Machine&, Scheduler::Lock&) {
    return flags == 0 ? CuResult::kSuccess : CuResult::kInvalidValue;
  });
}

CuResult driver_get_version(int* version) {
  *version = kMinDriverVersion;
  return CuResult::kSuccess;
}

CuResult get_error_name(CuResult result, const char** text) {
  *text = result_name(result);
  return *text != nullptr ? CuResult::kSuccess : CuResult::kInvalidValue;
}

CuResult get_error_string(CuResult result, const char** text) {
  *text = result_meaning(result);
  return *text != nullptr ? CuResult::kSuccess : CuResult::kInvalidValue;
}

CuResult device_get_count(int* count) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    *count = static_cast<int>(machine.devices.size());
    return CuResult::kSuccess;
  });
}

/// Runs `body` with the description of a device.
template <typename Body>
CuResult describe(CuDevice device, const Body& body) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    if (machine.find_device(device) == nullptr) return CuResult::kInvalidDevice;
    return body(machine.description.devices[static_cast<std::size_t>(device)]);
  });
}

CuResult device_get(CuDevice* device, int ordinal) {
  return describe(ordinal, [&](const DeviceDescription&) {
    *device = ordinal;
    return CuResult::kSuccess;
  });
}

CuResult device_get_name(char* name, int capacity, CuDevice device) {
  return describe(device, [&](const DeviceDescription& what) {
    if (capacity <= 0) return CuResult::kInvalidValue;
    sluice_message message = {name, static_cast<std::size_t>(capacity)};
    plugin::write_message(&message, what.name);
    return CuResult::kSuccess;
  });
}

CuResult device_get_uuid(CuUuid* uuid, CuDevice device) {
  return describe(device, [&](const DeviceDescription&) {
    *uuid = {"emulated GPU "};
    uuid->bytes[15] = static_cast<unsigned char>(device);
    return CuResult::kSuccess;
  });
}

CuResult device_total_mem(std::size_t* bytes, CuDevice device) {
  return describe(device, [&](const DeviceDescription& what) {
    *bytes = static_cast<std::size_t>(what.memory_bytes);
    return CuResult::kSuccess;
  });
}

int attribute_of(const DeviceDescription& what, CuDevice device, CuDeviceAttribute attribute) {
  using enum CuDeviceAttribute;
  const Limits& limits = limits_of(what);
  switch (attribute) {
    case kMaxThreadsPerBlock:
    case kMaxBlockDimX:
    case kMaxBlockDimY: return 1024;
    case kMaxBlockDimZ: return 64;
    case kMaxGridDimX: return 0x7fffffff;
    case kMaxGridDimY:
    case kMaxGridDimZ: return 0xffff;
    case kMaxSharedMemoryPerBlock: return kUsualSharedBytes;
    case kWarpSize: return 32;
    case kMaxRegistersPerBlock: return 64 * 1024;
    case kMultiprocessorCount: return what.multiprocessors;
    case kConcurrentKernels:
    case kUnifiedAddressing:
    case kMemoryPoolsSupported: return 1;
    case kPciBus: return device + 1;
    case kPciDevice: return 0;
    case kPciDomain: return what.domain;
    case kMaxThreadsPerMultiprocessor: return limits.threads;
    case kAsyncEngineCount: return 2;
    case kComputeCapabilityMajor: return what.major;
    case kComputeCapabilityMinor: return what.minor;
    case kMaxSharedMemoryPerMultiprocessor: return limits.shared_bytes;
    case kMaxSharedMemoryPerBlockOptin: return limits.max_block_shared_bytes();
    case kMaxBlocksPerMultiprocessor: return limits.blocks;
  }
  return -1;
}

CuResult device_get_attribute(int* value, CuDeviceAttribute attribute, CuDevice device) {
  return describe(device, [&](const DeviceDescription& what) {
    *value = attribute_of(what, device, attribute);
    if (*value >= 0) return CuResult::kSuccess;
    return explain(CuResult::kInvalidValue, "the emulator knows no device attribute " +
                                                std::to_string(static_cast<int>(attribute)));
  });
}

CuResult device_can_access_peer(int* can, CuDevice device, CuDevice peer) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    if (machine.find_device(device) == nullptr || machine.find_device(peer) == nullptr) {
      return CuResult::kInvalidDevice;
    }
    *can = device != peer && machine.description.has_peer_access ? 1 : 0;
    return CuResult::kSuccess;
  });
}

}  // namespace

void fill_device_entries(DriverTable& table) {
  table.init = init;
  table.driver_get_version = driver_get_version;
  table.get_error_name = get_error_name;
  table.get_error_string = get_error_string;
  table.device_get = device_get;
  table.device_get_count = device_get_count;
  table.device_get_name = device_get_name;
  table.device_get_uuid = device_get_uuid;
  table.device_get_attribute = device_get_attribute;
  table.device_total_mem = device_total_mem;
  table.device_can_access_peer = device_can_access_peer;
}

}  // namespace sluice::cuda::emulator
