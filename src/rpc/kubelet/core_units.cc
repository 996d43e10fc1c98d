#include "rpc/kubelet/core_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace sluice::rpc::kubelet {
namespace {

/// Units of one key are near each other. A device without a NUMA node is a place of its own.
using Place = std::pair<std::int32_t, std::int32_t>;

Place node_of(const CoreUnit* unit) {
  if (unit == nullptr) return {-1, -1};
  return {unit->numa_node, unit->numa_node < 0 ? unit->device.value() : -1};
}

Place device_of(const CoreUnit* unit) { return {unit == nullptr ? -1 : unit->device.value(), 0}; }

using Places = std::map<Place, std::vector<std::string>>;

/// The fullest place in use; without one the smallest that has `count`, else the largest.
Places::iterator best_place(Places& places, const std::map<Place, int>& used, std::size_t count) {
  return std::ranges::min_element(places, {}, [&](const auto& place) {
    const auto found = used.find(place.first);
    const int num_used = found == used.end() ? 0 : found->second;
    const auto size = static_cast<std::int64_t>(place.second.size());
    const bool is_enough = place.second.size() >= count;
    return std::tuple(-num_used, !is_enough, is_enough ? size : -size);
  });
}

template <typename PlaceOf>
Places by_place(std::span<const CoreUnit> units, std::span<const std::string> ids,
                const PlaceOf& place_of) {
  Places places;
  for (const std::string& id : ids) places[place_of(find_unit(units, id))].push_back(id);
  return places;
}

template <typename PlaceOf>
std::map<Place, int> count_places(std::span<const CoreUnit> units, std::span<const std::string> ids,
                                  const PlaceOf& place_of) {
  std::map<Place, int> counts;
  for (const std::string& id : ids) ++counts[place_of(find_unit(units, id))];
  return counts;
}

}  // namespace

std::vector<CoreUnit> core_units(std::span<const terms::Device> devices, std::int32_t cores) {
  std::vector<CoreUnit> units;
  for (const terms::Device& device : devices) {
    for (std::int32_t group = 0; group < device.num_cores / cores; ++group) {
      units.push_back({fmt::format("device{}-group{}", device.id.value(), group), device.id, group,
                       device.numa_node, true});
    }
  }
  return units;
}

const CoreUnit* find_unit(std::span<const CoreUnit> units, std::string_view id) {
  const auto found = std::ranges::find(units, id, &CoreUnit::id);
  return found == units.end() ? nullptr : &*found;
}

Result<std::vector<std::string>> preferred_units(std::span<const CoreUnit> units,
                                                 std::span<const std::string> available,
                                                 std::span<const std::string> required,
                                                 std::int32_t count) {
  std::vector<std::string> chosen(required.begin(), required.end());
  std::vector<std::string> rest;
  for (const std::string& id : available) {
    if (std::ranges::find(chosen, id) == chosen.end()) rest.push_back(id);
  }
  const auto wanted = static_cast<std::size_t>(std::max(count, 0));
  if (chosen.size() > wanted || rest.size() + chosen.size() < wanted) {
    return invalid_argument("{} core groups cannot be chosen of {} with {} required", count,
                            available.size(), required.size());
  }
  Places nodes = by_place(units, rest, node_of);
  while (chosen.size() < wanted) {
    const auto node =
        best_place(nodes, count_places(units, chosen, node_of), wanted - chosen.size());
    Places devices = by_place(units, node->second, device_of);
    while (chosen.size() < wanted && !devices.empty()) {
      const auto used = count_places(units, chosen, device_of);
      const auto device = best_place(devices, used, wanted - chosen.size());
      const std::size_t taken = std::min(device->second.size(), wanted - chosen.size());
      chosen.insert(chosen.end(), device->second.begin(),
                    device->second.begin() + static_cast<std::ptrdiff_t>(taken));
      devices.erase(device);
    }
    nodes.erase(node);
  }
  return chosen;
}

}  // namespace sluice::rpc::kubelet
