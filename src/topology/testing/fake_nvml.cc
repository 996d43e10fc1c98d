// A management library for the tests: four GPUs, 0 and 1 linked with each other, 2 and 3 with a
// switch. Compiled with SLUICE_FAKE_NVML_FAILS it does not start. As the real one it counts its
// starts, and answers nothing after as many stops.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "topology/discovery/nvml_api.h"

#define SLUICE_FAKE extern "C" __attribute__((visibility("default")))

namespace {

using sluice::topology::NvmlDevice;
using sluice::topology::NvmlMemory;
using sluice::topology::NvmlPciInfo;

constexpr unsigned kSwitchBus = 0xf0;

unsigned number_of(NvmlDevice device) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device)) - 1;
}

/// A test says which in the environment.
bool is_lost(NvmlDevice device) {
  const char* lost = std::getenv("SLUICE_FAKE_NVML_LOST");
  return lost != nullptr && std::strtoul(lost, nullptr, 10) == number_of(device);
}
constexpr int kGpuIsLost = 15;

unsigned bus_of(unsigned gpu) { return 0x1c + gpu; }

std::atomic<int> num_starts = 0;
constexpr int kUninitialized = 1;
bool is_stopped() { return num_starts == 0; }

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
SLUICE_FAKE int nvmlInit_v2() {
#ifdef SLUICE_FAKE_NVML_FAILS
  return 9;
#else
  ++num_starts;
  return 0;
#endif
}
SLUICE_FAKE int nvmlShutdown() {
  if (is_stopped()) return kUninitialized;
  --num_starts;
  return 0;
}
SLUICE_FAKE const char* nvmlErrorString(int code) {
  if (code == kUninitialized) return "Uninitialized";
  return code == kGpuIsLost ? "GPU is lost" : "Driver Not Loaded";
}

SLUICE_FAKE int nvmlDeviceGetCount_v2(unsigned* count) {
  if (is_stopped()) return kUninitialized;
  *count = 4;
  return 0;
}
SLUICE_FAKE int nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* device) {
  if (is_stopped()) return kUninitialized;
  *device = reinterpret_cast<NvmlDevice>(static_cast<std::uintptr_t>(index) + 1);
  return 0;
}
SLUICE_FAKE int nvmlDeviceGetName(NvmlDevice device, char* name, unsigned size) {
  if (is_stopped()) return kUninitialized;
  std::snprintf(name, size, "Fake GPU %u", number_of(device));
  return 0;
}
SLUICE_FAKE int nvmlDeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* memory) {
  if (is_stopped()) return kUninitialized;
  if (number_of(device) == 3) return 3;  // not supported
  memory->total = 80ULL << 30U;
  return 0;
}
SLUICE_FAKE int nvmlDeviceGetPciInfo_v3(NvmlDevice device, NvmlPciInfo* info) {
  if (is_stopped()) return kUninitialized;
  *info = {};
  info->bus = bus_of(number_of(device));
  return 0;
}
SLUICE_FAKE int nvmlDeviceGetCudaComputeCapability(NvmlDevice, int* major, int* minor) {
  if (is_stopped()) return kUninitialized;
  *major = 9;
  *minor = 0;
  return 0;
}
SLUICE_FAKE int nvmlDeviceGetNvLinkState(NvmlDevice, unsigned link, unsigned* is_active) {
  if (is_stopped()) return kUninitialized;
  *is_active = link < 2 ? 1 : 0;  // both lead to the same place
  return link < 4 ? 0 : 2;
}
SLUICE_FAKE int nvmlDeviceGetNvLinkRemotePciInfo_v2(NvmlDevice device, unsigned, NvmlPciInfo* end) {
  if (is_stopped()) return kUninitialized;
  const unsigned gpu = number_of(device);
  *end = {};
  end->bus = gpu < 2 ? bus_of(1 - gpu) : kSwitchBus;
  return 0;
}
SLUICE_FAKE int nvmlDeviceGetTemperature(NvmlDevice device, int sensor, unsigned* degrees) {
  if (is_stopped()) return kUninitialized;
  if (is_lost(device)) return kGpuIsLost;
  *degrees = 40 + 10 * number_of(device);
  return sensor == 0 ? 0 : 2;
}
SLUICE_FAKE int nvmlDeviceGetTemperatureThreshold(NvmlDevice, int kind, unsigned* degrees) {
  if (is_stopped()) return kUninitialized;
  *degrees = kind == 0 ? 95 : 90;
  return 0;
}
SLUICE_FAKE int nvmlDeviceGetPowerUsage(NvmlDevice device, unsigned* milliwatts) {
  if (is_stopped()) return kUninitialized;
  *milliwatts = 350'500;
  return number_of(device) == 1 ? 3 : 0;  // not supported
}
SLUICE_FAKE int nvmlDeviceGetTotalEccErrors(NvmlDevice, int kind, int counter,
                                            unsigned long long* count) {
  if (is_stopped()) return kUninitialized;
  *count = kind == 0 ? 7 : 2;
  return counter == 0 ? 0 : 2;
}
/// An idle GPU, one that is too hot, one at its operator's limit of power that its supply brakes
/// too.
SLUICE_FAKE int nvmlDeviceGetCurrentClocksThrottleReasons(NvmlDevice device,
                                                          unsigned long long* reasons) {
  if (is_stopped()) return kUninitialized;
  constexpr unsigned long long kReasons[] = {0x1, 0x40, 0x4 | 0x8 | 0x80, 0x1};
  *reasons = kReasons[number_of(device)];
  return 0;
}
// NOLINTEND(readability-identifier-naming)
