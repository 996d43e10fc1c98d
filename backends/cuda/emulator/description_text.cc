#include "emulator/description_text.h"

#include <charconv>
#include <map>

#include "emulator/machine/limits.h"

namespace sluice::cuda::emulator {
namespace {

constexpr std::size_t kMaxTextBytes = 4096;

using Settings = std::map<std::string_view, std::string_view>;

struct Range {
  std::uint64_t min, max;
};

template <typename Number>
Status read_number(const Settings& settings, std::string_view name, Range range, Number* number) {
  const auto found = settings.find(name);
  if (found == settings.end()) return plugin::ok();
  const std::string_view text = found->second;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < range.min ||
      value > range.max) {
    return plugin::invalid_argument("machine: " + std::string(name) + "=" + std::string(text) +
                                    ": a number from " + std::to_string(range.min) + " to " +
                                    std::to_string(range.max) + " is expected");
  }
  *number = static_cast<Number>(value);
  return plugin::ok();
}

/// Those whose limits the emulator knows.
Status read_capability(const Settings& settings, DeviceDescription* device) {
  const auto found = settings.find("capability");
  if (found == settings.end()) return plugin::ok();
  const Limits* const limits = find_limits(found->second);
  if (limits == nullptr) {
    return plugin::invalid_argument("machine: capability=" + std::string(found->second) +
                                    ": one from 7.5 to 12.1 is expected, as 9.0");
  }
  device->major = limits->major;
  device->minor = limits->minor;
  return plugin::ok();
}

Status read_peers(const Settings& settings, bool* has_peer_access) {
  const auto found = settings.find("peers");
  if (found == settings.end()) return plugin::ok();
  if (found->second != "yes" && found->second != "no") {
    return plugin::invalid_argument("machine: peers is yes or no");
  }
  *has_peer_access = found->second == "yes";
  return plugin::ok();
}

Status split(std::string_view text, Settings* settings) {
  if (text.size() > kMaxTextBytes) return plugin::invalid_argument("machine: the text is too long");
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const std::size_t equals = entry.find('=');
    const std::string_view name = entry.substr(0, equals);
    const bool is_known = name == "devices" || name == "capability" || name == "multiprocessors" ||
                          name == "memory" || name == "domain" || name == "seed" ||
                          name == "peers" || name == "instructions" || name == "count";
    if (equals == std::string_view::npos || !is_known) {
      return plugin::invalid_argument(
          "machine: \"" + std::string(entry) +
          "\": one of devices, capability, multiprocessors, memory, "
          "domain, seed, peers, instructions and count is expected, with "
          "=VALUE");
    }
    if (!settings->emplace(name, entry.substr(equals + 1)).second) {
      return plugin::invalid_argument("machine: " + std::string(name) + " is given twice");
    }
  }
  return plugin::ok();
}

}  // namespace

Status parse_description(std::string_view text, Description* description) {
  Settings settings;
  DeviceDescription device;
  std::size_t num_devices = 1;
  Description read;
  Status status = split(text, &settings);
  if (status.is_ok()) status = read_number(settings, "devices", {1, 16}, &num_devices);
  if (status.is_ok()) status = read_capability(settings, &device);
  if (status.is_ok()) {
    status = read_number(settings, "multiprocessors", {1, 512}, &device.multiprocessors);
  }
  if (status.is_ok()) {
    status = read_number(settings, "memory", {1 << 20, 1ULL << 40}, &device.memory_bytes);
  }
  if (status.is_ok()) status = read_number(settings, "domain", {0, 0xffff}, &device.domain);
  if (status.is_ok()) status = read_number(settings, "seed", {0, UINT64_MAX}, &read.seed);
  if (status.is_ok()) {
    status = read_number(settings, "instructions", {1, UINT64_MAX}, &read.max_instructions);
  }
  if (status.is_ok()) status = read_peers(settings, &read.has_peer_access);
  if (const auto file = settings.find("count"); file != settings.end()) {
    read.count_file = file->second;
  }
  if (!status.is_ok()) return status;
  read.devices.assign(num_devices, device);
  *description = std::move(read);
  return plugin::ok();
}

}  // namespace sluice::cuda::emulator
