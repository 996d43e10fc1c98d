#include "topology/map/device_map.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::topology {
namespace {

/// The host's PCI domain is left out by people and some tools.
bool is_same_address(std::string_view full, std::string_view asked) {
  constexpr std::string_view kFirstDomain = "0000:";
  if (full.starts_with(kFirstDomain)) full.remove_prefix(kFirstDomain.size());
  if (asked.starts_with(kFirstDomain)) asked.remove_prefix(kFirstDomain.size());
  return full == asked;
}

bool joins(const Link& link, terms::DeviceId a, terms::DeviceId b) {
  return (link.a == a && link.b == b) || (link.a == b && link.b == a);
}

}  // namespace

const terms::Device* find_device(const DeviceMap& map, terms::DeviceId id) {
  const auto it = std::ranges::find(map.devices, id, &terms::Device::id);
  return it == map.devices.end() ? nullptr : &*it;
}

const terms::Device* find_device_at(const DeviceMap& map, std::string_view bus_address) {
  if (bus_address.empty()) return nullptr;
  const auto it = std::ranges::find_if(map.devices, [&](const terms::Device& device) {
    return is_same_address(device.bus_address, bus_address);
  });
  return it == map.devices.end() ? nullptr : &*it;
}

bool are_linked(const DeviceMap& map, terms::DeviceId a, terms::DeviceId b) {
  return std::ranges::any_of(map.links, [&](const Link& link) { return joins(link, a, b); });
}

std::vector<terms::DeviceId> linked_with(const DeviceMap& map, terms::DeviceId id) {
  std::vector<terms::DeviceId> found;
  for (const Link& link : map.links) {
    if (link.a == id) found.push_back(link.b);
    if (link.b == id) found.push_back(link.a);
  }
  std::ranges::sort(found);
  return found;
}

std::string describe(const terms::Device& device) {
  if (device.bus_address.empty()) return fmt::format("device {}", device.id.value());
  return fmt::format("device {} ({})", device.id.value(), device.bus_address);
}

}  // namespace sluice::topology
