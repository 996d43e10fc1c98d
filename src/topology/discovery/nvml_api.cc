#include "topology/discovery/nvml_api.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::topology {
namespace {

constexpr unsigned kMaxLinks = 18;  // NVML_NVLINK_MAX_LINKS
constexpr unsigned kMaxDevices = 1024;

// Values of nvml.h.
constexpr int kGpuIsLost = 15;         // NVML_ERROR_GPU_IS_LOST
constexpr int kGpuSensor = 0;          // NVML_TEMPERATURE_GPU
constexpr int kShutdownThreshold = 0;  // NVML_TEMPERATURE_THRESHOLD_SHUTDOWN
constexpr int kCorrected = 0;          // NVML_MEMORY_ERROR_TYPE_CORRECTED
constexpr int kUncorrected = 1;        // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
constexpr int kSinceStart = 0;         // NVML_VOLATILE_ECC
/// nvmlClocksThrottleReason: SwThermalSlowdown, HwThermalSlowdown. The others are no heat: an idle
/// GPU, one at the power limit that its operator set, or a power supply that brakes it, which
/// HwSlowdown may mean too.
constexpr unsigned long long kHeat = 0x20 | 0x40;

/// Whether the library has the function.
template <typename Function>
bool bind_to(const DynamicLibrary& library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(library.find_symbol(name));
  return function != nullptr;
}

/// Up to the first NUL, or the whole buffer if the library forgot the NUL.
template <std::size_t kSize>
std::string text_of(const std::array<char, kSize>& buffer) {
  return {buffer.begin(), std::ranges::find(buffer, '\0')};
}

std::string address_of(const NvmlPciInfo& info) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device);
}

}  // namespace

Result<Nvml> Nvml::open(const std::filesystem::path& library) {
  Nvml nvml(SLUICE_TRY(DynamicLibrary::open(library)));
  SLUICE_TRY(nvml.bind());
  SLUICE_TRY(nvml.check(nvml.init_(), "starting it"));
  nvml.started_.is_so = true;
  return nvml;
}

Nvml::~Nvml() {
  if (started_.is_so) shutdown_();
}

Status Nvml::bind() {
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto& function) {
    if (!bind_to(library_, name, function)) missing = name;
  };
  need("nvmlInit_v2", init_);
  need("nvmlShutdown", shutdown_);
  need("nvmlErrorString", error_string_);
  need("nvmlDeviceGetCount_v2", count_);
  need("nvmlDeviceGetHandleByIndex_v2", handle_);
  need("nvmlDeviceGetName", name_);
  need("nvmlDeviceGetMemoryInfo", memory_);
  need("nvmlDeviceGetPciInfo_v3", pci_);
  // Older drivers lack these.
  bind_to(library_, "nvmlDeviceGetCudaComputeCapability", capability_);
  bind_to(library_, "nvmlDeviceGetNvLinkState", link_state_);
  bind_to(library_, "nvmlDeviceGetNvLinkRemotePciInfo_v2", link_end_);
  bind_to(library_, "nvmlDeviceGetTemperature", temperature_);
  bind_to(library_, "nvmlDeviceGetTemperatureThreshold", threshold_);
  bind_to(library_, "nvmlDeviceGetPowerUsage", power_);
  bind_to(library_, "nvmlDeviceGetTotalEccErrors", memory_errors_);
  bind_to(library_, "nvmlDeviceGetCurrentClocksThrottleReasons", slowdowns_);
  if (missing == nullptr) return ok_status();
  return make_error(Code::kFailedPrecondition, "the library has no function {}", missing);
}

Status Nvml::check(int code, std::string_view what) const {
  if (code == 0) return ok_status();
  const char* text = error_string_(code);
  return make_error(Code::kUnavailable, "{}: {} (code {})", what,
                    text == nullptr ? "unknown error" : text, code);
}

Result<std::vector<NvmlDevice>> Nvml::devices() const {
  unsigned count = 0;
  SLUICE_TRY(check(count_(&count), "counting GPUs"));
  std::vector<NvmlDevice> devices;
  for (unsigned i = 0; i < std::min(count, kMaxDevices); ++i) {
    NvmlDevice device = nullptr;
    SLUICE_TRY(check(handle_(i, &device), fmt::format("GPU {}", i)));
    devices.push_back(device);
  }
  return devices;
}

Result<std::string> Nvml::name(NvmlDevice device) const {
  std::array<char, 96> buffer = {};
  SLUICE_TRY(check(name_(device, buffer.data(), buffer.size()), "name of a GPU"));
  return text_of(buffer);
}

Result<std::int64_t> Nvml::memory_bytes(NvmlDevice device) const {
  NvmlMemory memory = {};
  SLUICE_TRY(check(memory_(device, &memory), "memory of a GPU"));
  return static_cast<std::int64_t>(memory.total);
}

Result<std::string> Nvml::bus_address(NvmlDevice device) const {
  NvmlPciInfo info = {};
  SLUICE_TRY(check(pci_(device, &info), "bus address of a GPU"));
  return address_of(info);
}

std::optional<std::string> Nvml::architecture(NvmlDevice device) const {
  int major = 0;
  int minor = 0;
  if (capability_ == nullptr || capability_(device, &major, &minor) != 0) return std::nullopt;
  return fmt::format("sm_{}{}", major, minor);
}

terms::Sensors Nvml::sensors(NvmlDevice device) const {
  terms::Sensors all;
  const auto ask = [&](auto function, auto... arguments) {
    if (function == nullptr) return false;
    const int code = function(device, arguments...);
    if (code == kGpuIsLost) all.fault = error_string_(code);
    return code == 0;
  };
  unsigned degrees = 0;
  unsigned milliwatts = 0;
  unsigned long long count = 0;
  constexpr double kMilli = 1000;
  if (ask(temperature_, kGpuSensor, &degrees)) all.temperature_c = degrees;
  if (ask(threshold_, kShutdownThreshold, &degrees)) all.temperature_limit_c = degrees;
  if (ask(power_, &milliwatts)) all.power_w = milliwatts / kMilli;
  const auto errors = [&](int kind) -> std::optional<std::int64_t> {
    if (!ask(memory_errors_, kind, kSinceStart, &count)) return std::nullopt;
    return static_cast<std::int64_t>(count);
  };
  all.num_corrected_errors = errors(kCorrected);
  all.num_uncorrected_errors = errors(kUncorrected);
  if (ask(slowdowns_, &count)) {
    all.is_slowed = (count & kHeat) != 0;
    all.num_throttles = all.is_slowed ? 1 : 0;
  }
  return all;
}

std::vector<std::string> Nvml::link_ends(NvmlDevice device) const {
  std::vector<std::string> ends;
  if (link_state_ == nullptr || link_end_ == nullptr) return ends;
  for (unsigned link = 0; link < kMaxLinks; ++link) {
    unsigned is_active = 0;
    NvmlPciInfo end = {};
    if (link_state_(device, link, &is_active) != 0 || is_active == 0) continue;
    if (link_end_(device, link, &end) == 0) ends.push_back(address_of(end));
  }
  return ends;
}

}  // namespace sluice::topology
