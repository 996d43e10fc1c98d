// What programs set or ask for once, most of which changes nothing for a guest: its one device is
// shared, and lives as long as the proxy.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "guest/runtime/abi.h"
#include "guest/runtime/connection.h"
#include "guest/runtime/device.h"
#include "guest/runtime/registry.h"

namespace sluice::guest {
namespace {

// Numbers of the driver's attributes.
constexpr int kPciBus = 33;
constexpr int kPciDevice = 34;
constexpr int kPciDomain = 50;

std::atomic<unsigned> device_flags = 0;
thread_local int capture_mode = 0;  // global

Error pci_address(std::string* address) {
  const DeviceFacts* facts = nullptr;
  if (const Error error = device_facts(&facts); error != Error::kSuccess) return error;
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0",
                static_cast<unsigned>(attribute(*facts, kPciDomain)),
                static_cast<unsigned>(attribute(*facts, kPciBus)),
                static_cast<unsigned>(attribute(*facts, kPciDevice)));
  *address = text.data();
  return Error::kSuccess;
}

Error write_pci_address(char* to, int capacity, int device) {
  std::string address;
  if (const Error error = pci_address(&address); error != Error::kSuccess) return error;
  if (device != 0) return Error::kInvalidDevice;
  if (to == nullptr || capacity <= static_cast<int>(address.size())) return Error::kInvalidValue;
  std::memcpy(to, address.c_str(), address.size() + 1);
  return Error::kSuccess;
}

Error find_pci_address(int* device, const char* wanted) {
  if (device == nullptr || wanted == nullptr) return Error::kInvalidValue;
  std::string address;
  if (const Error error = pci_address(&address); error != Error::kSuccess) return error;
  if (address != wanted) return Error::kInvalidDevice;
  *device = 0;
  return Error::kSuccess;
}

Error is_device(int device) { return device == 0 ? Error::kSuccess : Error::kInvalidDevice; }

Error can_access_peer(int* can, int device, int peer) {
  if (can == nullptr) return Error::kInvalidValue;
  *can = 0;  // the device itself is no peer
  return device == 0 ? is_device(peer) : Error::kInvalidDevice;
}

Error exchange_capture_mode(int* mode) {
  constexpr int kRelaxed = 2;
  if (mode == nullptr || *mode < 0 || *mode > kRelaxed) return Error::kInvalidValue;
  std::swap(*mode, capture_mode);
  return Error::kSuccess;
}

/// A guest that called the driver itself would pass the proxy by.
Error find_driver_function(void** function, int* status) {
  constexpr int kNotFound = 1;
  if (function == nullptr) return Error::kInvalidValue;
  *function = nullptr;
  if (status != nullptr) *status = kNotFound;
  return Error::kSymbolNotFound;
}

template <typename T>
Error give(T* to, T value) {
  if (to == nullptr) return Error::kInvalidValue;
  *to = value;
  return Error::kSuccess;
}

}  // namespace
}  // namespace sluice::guest

using sluice::guest::CallKind;
using sluice::guest::Error;
using sluice::guest::note;

/// The proxy frees what a process leaves.
SLUICE_GUEST_EXPORT int cudaDeviceReset() {
  return note(sluice::guest::Connection::get().ask(CallKind::kDeviceWait, {}));
}
SLUICE_GUEST_EXPORT int cudaSetDeviceFlags(unsigned flags) {
  sluice::guest::device_flags = flags;
  return note(Error::kSuccess);
}
SLUICE_GUEST_EXPORT int cudaGetDeviceFlags(unsigned* flags) {
  return note(sluice::guest::give(flags, sluice::guest::device_flags.load()));
}
SLUICE_GUEST_EXPORT int cudaInitDevice(int device, unsigned /*device_flags*/, unsigned /*flags*/) {
  return note(sluice::guest::is_device(device));
}
SLUICE_GUEST_EXPORT int cudaChooseDevice(int* device, const void* /*properties*/) {
  return note(sluice::guest::give(device, 0));
}
SLUICE_GUEST_EXPORT int cudaDeviceGetPCIBusId(char* to, int capacity, int device) {
  return note(sluice::guest::write_pci_address(to, capacity, device));
}
SLUICE_GUEST_EXPORT int cudaDeviceGetByPCIBusId(int* device, const char* address) {
  return note(sluice::guest::find_pci_address(device, address));
}
SLUICE_GUEST_EXPORT int cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return note(sluice::guest::can_access_peer(can, device, peer));
}
SLUICE_GUEST_EXPORT int cudaDeviceEnablePeerAccess(int /*peer*/, unsigned /*flags*/) {
  return note(Error::kInvalidDevice);
}
SLUICE_GUEST_EXPORT int cudaDeviceDisablePeerAccess(int /*peer*/) {
  return note(Error::kInvalidDevice);
}
// Preferences between shared memory and cache.
SLUICE_GUEST_EXPORT int cudaDeviceSetCacheConfig(int /*preference*/) {
  return note(Error::kSuccess);
}
SLUICE_GUEST_EXPORT int cudaDeviceGetCacheConfig(int* preference) {
  return note(sluice::guest::give(preference, 0));
}
SLUICE_GUEST_EXPORT int cudaFuncSetCacheConfig(const void* host, int /*preference*/) {
  sluice::guest::Function* function = nullptr;
  return note(sluice::guest::Registry::get().load_function(host, &function));
}
// Limits are those of the context, which all guests share.
SLUICE_GUEST_EXPORT int cudaDeviceSetLimit(int /*limit*/, std::size_t /*value*/) {
  return note(Error::kNotSupported);
}
SLUICE_GUEST_EXPORT int cudaDeviceGetLimit(std::size_t* /*value*/, int /*limit*/) {
  return note(Error::kNotSupported);
}
SLUICE_GUEST_EXPORT int cudaProfilerStart() { return note(Error::kSuccess); }
SLUICE_GUEST_EXPORT int cudaProfilerStop() { return note(Error::kSuccess); }
SLUICE_GUEST_EXPORT int cudaThreadExchangeStreamCaptureMode(int* mode) {
  return note(sluice::guest::exchange_capture_mode(mode));
}
SLUICE_GUEST_EXPORT int cudaGetDriverEntryPoint(const char* /*name*/, void** function,
                                                unsigned long long /*flags*/, int* status) {
  return note(sluice::guest::find_driver_function(function, status));
}
SLUICE_GUEST_EXPORT int cudaGetDriverEntryPointByVersion(const char* /*name*/, void** function,
                                                         unsigned /*version*/,
                                                         unsigned long long /*flags*/,
                                                         int* status) {
  return note(sluice::guest::find_driver_function(function, status));
}
