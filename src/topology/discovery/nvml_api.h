// The part of NVIDIA's management library that discovery and the sensors call. Its functions and
// structs are a stable C interface; they are declared here so that neither building nor running
// needs the vendor's files.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/system/dynlib.h"
#include "terms/server/sensors.h"

namespace sluice::topology {

/// nvmlPciInfo_t of version 3.
struct NvmlPciInfo {
  std::array<char, 16> legacy_bus_id;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  std::array<char, 32> bus_id;
};

/// nvmlMemory_t, bytes.
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

using NvmlDevice = struct NvmlDeviceHandle*;

/// The library, open and started; stopped at the end of its life. Move-only: what was moved from
/// stops nothing.
class Nvml {
 public:
  /// Fails: kNotFound            no such library, with the linker's text
  ///        kFailedPrecondition  the library lacks a function
  ///        kUnavailable         the library does not start; has its message: no driver, no
  ///        permission
  static Result<Nvml> open(const std::filesystem::path& library);
  Nvml(Nvml&& other) noexcept = default;
  Nvml& operator=(Nvml&&) = delete;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  Result<std::vector<NvmlDevice>> devices() const;
  Result<std::string> name(NvmlDevice device) const;
  Result<std::int64_t> memory_bytes(NvmlDevice device) const;
  /// "0000:1c:00.0".
  Result<std::string> bus_address(NvmlDevice device) const;
  /// "sm_90"; nullopt if the library does not report it.
  std::optional<std::string> architecture(NvmlDevice device) const;
  /// Bus addresses at the far ends of the active NVLinks, those of switches included.
  std::vector<std::string> link_ends(NvmlDevice device) const;

  /// What drivers and GPUs do not tell is absent. A GPU that the driver has lost has a `fault`.
  /// `num_throttles` is 1 while heat slows the GPU down, else 0.
  terms::Sensors sensors(NvmlDevice device) const;

 private:
  struct Started {
    Started() = default;
    Started(Started&& other) noexcept : is_so(std::exchange(other.is_so, false)) {}
    Started& operator=(Started&&) = delete;
    Started(const Started&) = delete;
    Started& operator=(const Started&) = delete;
    ~Started() = default;

    bool is_so = false;
  };

  explicit Nvml(DynamicLibrary library) : library_(std::move(library)) {}
  Status bind();
  Status check(int code, std::string_view what) const;

  // As nvml.h declares them; 0 is success.
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  const char* (*error_string_)(int) = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, NvmlDevice*) = nullptr;
  int (*name_)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memory_)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*pci_)(NvmlDevice, NvmlPciInfo*) = nullptr;
  // May be absent.
  int (*capability_)(NvmlDevice, int*, int*) = nullptr;
  int (*link_state_)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*link_end_)(NvmlDevice, unsigned, NvmlPciInfo*) = nullptr;
  int (*temperature_)(NvmlDevice, int sensor, unsigned* degrees) = nullptr;
  int (*threshold_)(NvmlDevice, int kind, unsigned* degrees) = nullptr;
  int (*power_)(NvmlDevice, unsigned* milliwatts) = nullptr;
  int (*memory_errors_)(NvmlDevice, int kind, int counter, unsigned long long*) = nullptr;
  int (*slowdowns_)(NvmlDevice, unsigned long long* reasons) = nullptr;

  DynamicLibrary library_;
  Started started_;
};

}  // namespace sluice::topology
