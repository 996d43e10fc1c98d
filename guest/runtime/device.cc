// A guest sees one device.
#include "guest/runtime/device.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "guest/runtime/abi.h"
#include "guest/runtime/connection.h"

namespace sluice::guest {

namespace {

// Numbers of the driver's attributes; the runtime's are the same.
enum Attribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockX = 2,
  kMaxGridX = 5,
  kSharedPerBlock = 8,
  kConstantBytes = 9,
  kWarpSize = 10,
  kMaxPitch = 11,
  kRegistersPerBlock = 12,
  kTextureAlignment = 14,
  kMultiprocessors = 16,
  kIntegrated = 18,
  kSurfaceAlignment = 30,
  kConcurrentKernels = 31,
  kEcc = 32,
  kPciBus = 33,
  kPciDevice = 34,
  kBusWidth = 37,
  kL2Bytes = 38,
  kThreadsPerMultiprocessor = 39,
  kAsyncEngines = 40,
  kUnifiedAddressing = 41,
  kPciDomain = 50,
  kTexturePitchAlignment = 51,
  kMajor = 75,
  kMinor = 76,
  kSharedPerMultiprocessor = 81,
  kRegistersPerMultiprocessor = 82,
  kSharedPerBlockOptin = 97,
  kBlocksPerMultiprocessor = 106,
  kReservedSharedPerBlock = 111,
  kMemoryPools = 115,
};

std::size_t bytes_of(const DeviceFacts& facts, int number) {
  return static_cast<std::size_t>(attribute(facts, number));
}

void describe_limits(const DeviceFacts& facts, DeviceProperties& to) {
  to.shared_bytes_per_block = bytes_of(facts, kSharedPerBlock);
  to.registers_per_block = attribute(facts, kRegistersPerBlock);
  to.warp_size = attribute(facts, kWarpSize);
  to.memory_pitch = bytes_of(facts, kMaxPitch);
  to.max_threads_per_block = attribute(facts, kMaxThreadsPerBlock);
  for (int i = 0; i < 3; ++i) {
    to.max_block[i] = attribute(facts, kMaxBlockX + i);
    to.max_grid[i] = attribute(facts, kMaxGridX + i);
  }
  to.total_constant_bytes = bytes_of(facts, kConstantBytes);
  to.max_threads_per_multiprocessor = attribute(facts, kThreadsPerMultiprocessor);
  to.shared_bytes_per_multiprocessor = bytes_of(facts, kSharedPerMultiprocessor);
  to.registers_per_multiprocessor = attribute(facts, kRegistersPerMultiprocessor);
  to.shared_bytes_per_block_optin = bytes_of(facts, kSharedPerBlockOptin);
  to.max_blocks_per_multiprocessor = attribute(facts, kBlocksPerMultiprocessor);
  to.reserved_shared_bytes_per_block = bytes_of(facts, kReservedSharedPerBlock);
}

void describe_device(const DeviceFacts& facts, DeviceProperties& to) {
  std::ranges::copy(facts.name, to.name);
  std::ranges::copy(facts.uuid, to.uuid);
  to.total_global_bytes = facts.memory_bytes;
  to.major = attribute(facts, kMajor);
  to.minor = attribute(facts, kMinor);
  to.texture_alignment = bytes_of(facts, kTextureAlignment);
  to.texture_pitch_alignment = bytes_of(facts, kTexturePitchAlignment);
  to.multiprocessor_count = attribute(facts, kMultiprocessors);
  to.is_integrated = attribute(facts, kIntegrated);
  to.surface_alignment = bytes_of(facts, kSurfaceAlignment);
  to.concurrent_kernels = attribute(facts, kConcurrentKernels);
  to.has_ecc = attribute(facts, kEcc);
  to.pci_bus = attribute(facts, kPciBus);
  to.pci_device = attribute(facts, kPciDevice);
  to.pci_domain = attribute(facts, kPciDomain);
  to.async_engine_count = attribute(facts, kAsyncEngines);
  to.unified_addressing = attribute(facts, kUnifiedAddressing);
  to.memory_bus_width = attribute(facts, kBusWidth);
  to.l2_cache_bytes = attribute(facts, kL2Bytes);
  to.memory_pools_supported = attribute(facts, kMemoryPools);
}

Error get_properties(DeviceProperties* properties, int device) {
  if (properties == nullptr) return Error::kInvalidValue;
  const DeviceFacts* facts = nullptr;
  if (const Error error = device_facts(&facts); error != Error::kSuccess) return error;
  if (device != 0) return Error::kInvalidDevice;
  *properties = {};
  describe_device(*facts, *properties);
  describe_limits(*facts, *properties);
  return Error::kSuccess;
}

Error get_attribute(int* value, int number, int device) {
  const DeviceFacts* facts = nullptr;
  if (const Error error = device_facts(&facts); error != Error::kSuccess) return error;
  if (device != 0) return Error::kInvalidDevice;
  const bool is_known = number >= 0 && number < static_cast<int>(kNumAttributes) &&
                        facts->attributes[static_cast<std::size_t>(number)] != kUnknownAttribute;
  if (value == nullptr || !is_known) return Error::kInvalidValue;
  *value = facts->attributes[static_cast<std::size_t>(number)];
  return Error::kSuccess;
}

Error get_version(int* version) {
  const DeviceFacts* facts = nullptr;
  const Error error = device_facts(&facts);
  if (version == nullptr) return Error::kInvalidValue;
  *version = error == Error::kSuccess ? facts->driver_version : 0;
  return error;
}

}  // namespace

Error device_facts(const DeviceFacts** facts) {
  static std::mutex mutex;
  static DeviceFacts known;
  static bool is_known = false;
  const std::lock_guard lock(mutex);
  *facts = &known;
  if (is_known) return Error::kSuccess;
  std::vector<std::byte> back;
  const Error error = Connection::get().ask(CallKind::kDeviceFacts, {}, {}, nullptr, &back);
  if (error != Error::kSuccess) return error;
  if (back.size() < sizeof(DeviceFacts)) return Error::kUnknown;
  std::memcpy(&known, back.data(), sizeof(DeviceFacts));
  is_known = true;
  return Error::kSuccess;
}

int attribute(const DeviceFacts& facts, int number) {
  const int value = facts.attributes[static_cast<std::size_t>(number)];
  return value == kUnknownAttribute ? 0 : value;
}

}  // namespace sluice::guest

using sluice::guest::Error;
using sluice::guest::note;

SLUICE_GUEST_EXPORT int cudaGetDeviceCount(int* count) {
  const sluice::guest::DeviceFacts* facts = nullptr;
  const Error error = sluice::guest::device_facts(&facts);
  if (count == nullptr) return note(Error::kInvalidValue);
  *count = error == Error::kSuccess ? 1 : 0;
  return note(error);
}
SLUICE_GUEST_EXPORT int cudaGetDevice(int* device) {
  if (device == nullptr) return note(Error::kInvalidValue);
  *device = 0;
  return note(Error::kSuccess);
}
SLUICE_GUEST_EXPORT int cudaSetDevice(int device) {
  return note(device == 0 ? Error::kSuccess : Error::kInvalidDevice);
}
SLUICE_GUEST_EXPORT int cudaGetDeviceProperties(sluice::guest::DeviceProperties* properties,
                                                int device) {
  return note(sluice::guest::get_properties(properties, device));
}
SLUICE_GUEST_EXPORT int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  return note(sluice::guest::get_attribute(value, attribute, device));
}
SLUICE_GUEST_EXPORT int cudaDriverGetVersion(int* version) {
  return note(sluice::guest::get_version(version));
}
SLUICE_GUEST_EXPORT int cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return note(Error::kInvalidValue);
  *version = sluice::guest::kRuntimeVersion;
  return note(Error::kSuccess);
}
