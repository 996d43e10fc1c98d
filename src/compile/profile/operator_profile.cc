#include "compile/profile/operator_profile.h"

#include <nlohmann/json.hpp>

#include <cmath>

#include "base/file.h"
#include "base/text/number.h"

namespace sluice::compile {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "sluice operator profile";
constexpr int kVersion = 2;
// A profile has a line of some 100 bytes per operation and device; more is no profile.
constexpr std::int64_t kMaxFileBytes = std::int64_t{64} << 20;

/// "cpu 0.1.0 avx512 x".
// A newer plug-in, or another instruction set, has other kernels: their times must not be mixed.
std::string key_without_cores(const backend::Backend& backend) {
  std::string key = backend.name() + " " + backend.version();
  if (!backend.packing_key().empty()) key += " " + backend.packing_key();
  return key + " x";
}

Result<double> read_time(const json& object, const std::string& name, const std::string& where) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) {
    return invalid_argument("{}: \"{}\" is no number", where, name);
  }
  const double time = found->get<double>();
  if (!std::isfinite(time) || time < 0) {
    return invalid_argument("{}: \"{}\" is {}, not a time", where, name, time);
  }
  return time;
}

Result<TransferCost> read_transfer(const json& device, const char* name, const std::string& where) {
  const auto transfer = device.find(name);
  if (transfer == device.end() || !transfer->is_object()) {
    return invalid_argument("{}: \"{}\" is no object", where, name);
  }
  return TransferCost{SLUICE_TRY(read_time(*transfer, "latency_ns", where)),
                      SLUICE_TRY(read_time(*transfer, "ns_per_byte", where))};
}

Result<DeviceProfile> read_device(const json& value, int version, const std::string& where) {
  DeviceProfile device;
  if (!value.is_object()) return invalid_argument("{}: not an object", where);
  if (version == 1) {
    device.to_device = device.from_device = SLUICE_TRY(read_transfer(value, "transfer", where));
  } else {
    device.to_device = SLUICE_TRY(read_transfer(value, "to_device", where));
    device.from_device = SLUICE_TRY(read_transfer(value, "from_device", where));
    device.launch_ns = SLUICE_TRY(read_time(value, "launch_ns", where));
    if (value.contains("between_devices")) {
      device.between_devices = SLUICE_TRY(read_transfer(value, "between_devices", where));
    }
  }
  const auto times = value.find("times_ns");
  if (times == value.end() || !times->is_object()) {
    return invalid_argument("{}: \"times_ns\" is no object", where);
  }
  for (const auto& [operation, time] : times->items()) {
    device.times_ns[operation] = SLUICE_TRY(read_time(*times, operation, where));
  }
  return device;
}

}  // namespace

std::optional<double> OperatorProfile::find(const std::string& device,
                                            const std::string& operation) const {
  const auto at = devices.find(device);
  if (at == devices.end()) return std::nullopt;
  const auto time = at->second.times_ns.find(operation);
  if (time == at->second.times_ns.end()) return std::nullopt;
  return time->second;
}

void OperatorProfile::merge(const OperatorProfile& other) {
  for (const auto& [key, device] : other.devices) {
    DeviceProfile& own = devices[key];
    // The later measurement replaces the earlier one.
    own.to_device = device.to_device;
    own.from_device = device.from_device;
    own.between_devices = device.between_devices;
    own.launch_ns = device.launch_ns;
    for (const auto& [operation, time] : device.times_ns) own.times_ns[operation] = time;
  }
}

std::string device_key(const backend::Backend& backend, int num_cores) {
  return fmt::format("{}{}", key_without_cores(backend), num_cores);
}

std::optional<std::string> find_device_key(const OperatorProfile& profile,
                                           const backend::Backend& backend) {
  const std::string prefix = key_without_cores(backend);
  std::optional<std::string> found;
  int max_cores = 0;
  for (const auto& [key, device] : profile.devices) {
    if (!key.starts_with(prefix)) continue;
    // The rest must be the number of cores alone: another packing key may begin like it.
    const auto cores = to_number<int>(std::string_view(key).substr(prefix.size()));
    if (!cores || *cores <= max_cores) continue;
    max_cores = *cores;
    found = key;
  }
  return found;
}

std::string to_json(const OperatorProfile& profile) {
  const auto transfer = [](const TransferCost& cost) {
    return json{{"latency_ns", cost.latency_ns}, {"ns_per_byte", cost.ns_per_byte}};
  };
  json devices = json::object();
  for (const auto& [key, device] : profile.devices) {
    devices[key] = {{"to_device", transfer(device.to_device)},
                    {"from_device", transfer(device.from_device)},
                    {"launch_ns", device.launch_ns},
                    {"times_ns", device.times_ns}};
    if (device.between_devices) devices[key]["between_devices"] = transfer(*device.between_devices);
  }
  const json root = {{"format", kFormat}, {"version", kVersion}, {"devices", std::move(devices)}};
  return root.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<OperatorProfile> parse_operator_profile(std::string_view text) {
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object()) return invalid_argument("not a JSON object");
  const auto format = root.find("format");
  if (format == root.end() || *format != kFormat) {
    return invalid_argument("\"format\" is not \"{}\"; `sluice operator-times` writes such files",
                            kFormat);
  }
  const auto version = root.find("version");
  if (version == root.end() || (*version != 1 && *version != kVersion)) {
    return invalid_argument("\"version\" is neither 1 nor {}", kVersion);
  }
  const auto devices = root.find("devices");
  if (devices == root.end() || !devices->is_object()) {
    return invalid_argument("\"devices\" is no object");
  }
  OperatorProfile profile;
  for (const auto& [key, device] : devices->items()) {
    // An unknown device is kept: the profile may come from a machine with more plug-ins than this
    // one.
    profile.devices[key] =
        SLUICE_TRY(read_device(device, version->get<int>(), "device \"" + key + "\""));
  }
  return profile;
}

Result<OperatorProfile> read_operator_profile(const std::string& path) {
  const std::string text = SLUICE_TRY(read_text_file(path, kMaxFileBytes));
  return SLUICE_TRY(parse_operator_profile(text).with_context(path));
}

}  // namespace sluice::compile
