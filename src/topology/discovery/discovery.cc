#include "topology/discovery/discovery.h"

#include <algorithm>

#include "topology/map/logical_ids.h"

namespace sluice::topology {
namespace {

/// Fills empty fields of `known` from `later`.
void fill_in(terms::Device& known, const terms::Device& later) {
  if (known.backend.empty() && !later.backend.empty()) {
    known.kind = later.kind;
    known.backend = later.backend;
    known.backend_index = later.backend_index;
    known.num_cores = later.num_cores;
  }
  if (!later.name.empty() && later.memory_bytes > 0) known.name = later.name;
  if (known.name.empty()) known.name = later.name;
  if (known.numa_node < 0) known.numa_node = later.numa_node;
  if (known.memory_bytes == 0) known.memory_bytes = later.memory_bytes;
  known.features.insert(known.features.end(), later.features.begin(), later.features.end());
  std::ranges::sort(known.features);
  known.features.erase(std::unique(known.features.begin(), known.features.end()),
                       known.features.end());
}

void add_link(DeviceMap& map, Link link) {
  if (link.a == link.b || are_linked(map, link.a, link.b)) return;
  map.links.push_back(std::move(link));
}

void add_findings(DeviceMap& map, Findings found) {
  std::vector<terms::DeviceId> ids;  // by the source's own numbers
  for (terms::Device& device : found.devices) {
    const terms::Device* known = find_device_at(map, device.bus_address);
    if (known != nullptr) {
      ids.push_back(known->id);
      fill_in(map.devices[known->id.index()], device);
    } else {
      device.id = terms::DeviceId(map.devices.size());
      ids.push_back(device.id);
      map.devices.push_back(std::move(device));
    }
  }
  for (Link& link : found.links) {
    link.a = ids[link.a.index()];
    link.b = ids[link.b.index()];
    add_link(map, std::move(link));
  }
  map.sources.push_back(std::move(found.report));
}

/// The findings of hwloc. A machine that hwloc cannot inspect becomes a report; an invalid
/// description is an error.
Result<Findings> look_with_hwloc(const std::string& synthetic) {
  auto found = find_hwloc({.synthetic = synthetic});
  if (found.is_ok() || !synthetic.empty()) return found;
  return Findings{.report = {"hwloc", 0, found.status().message()}};
}

}  // namespace

DeviceMap merge_findings(std::vector<Findings> all) {
  DeviceMap map;
  for (Findings& found : all) add_findings(map, std::move(found));
  return with_logical_ids(std::move(map));
}

Result<DeviceMap> discover_devices(const backend::BackendRegistry& plugins,
                                   const DiscoveryOptions& options) {
  const bool is_real = options.synthetic.empty() && !options.only_simulated;
  std::vector<Findings> all;
  if (is_real || !options.synthetic.empty()) {
    all.push_back(SLUICE_TRY(look_with_hwloc(options.synthetic)));
  }
  if (is_real) {
    const bool has_cpus = !all.front().devices.empty();
    all.push_back(find_nvml(options.nvml_library));
    all.push_back(find_plugin_devices(plugins.all(), has_cpus, false));
  }
  if (options.only_simulated) all.push_back(find_plugin_devices(plugins.all(), true, true));
  return merge_findings(std::move(all));
}

}  // namespace sluice::topology
