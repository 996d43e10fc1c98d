#include "topology/testing/topology_testing.h"

#include <fmt/format.h>

namespace sluice::topology::testing {

DeviceMap make_map(const std::vector<int>& cores, const Edges& edges) {
  DeviceMap map;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    map.devices.push_back({.id = terms::DeviceId(i),
                           .kind = "sim",
                           .name = "simulated",
                           .backend = "sim",
                           .backend_index = static_cast<std::int32_t>(i),
                           .bus_address = fmt::format("0000:00:{:02x}.0", i),
                           .num_cores = cores[i]});
  }
  for (const auto& [a, b] : edges)
    map.links.push_back({terms::DeviceId(a), terms::DeviceId(b), "sim"});
  return map;
}

DeviceMap make_chain(int num_devices, int cores_each) {
  Edges edges;
  for (int i = 1; i < num_devices; ++i) edges.emplace_back(i - 1, i);
  return make_map(std::vector<int>(static_cast<std::size_t>(num_devices), cores_each), edges);
}

DeviceMap make_ring(int num_devices, int cores_each) {
  DeviceMap map = make_chain(num_devices, cores_each);
  map.links.push_back({terms::DeviceId(0), terms::DeviceId(num_devices - 1), "sim"});
  return map;
}

DeviceMap four_in_a_row() {
  DeviceMap map = make_chain(4, 4);
  const char* addresses[] = {"0000:00:1c.0", "0000:00:1d.0", "0000:00:1e.0", "0000:00:1f.0"};
  for (std::size_t i = 0; i < 4; ++i) map.devices[i].bus_address = addresses[i];
  return map;
}

std::vector<terms::DeviceId> ids(std::initializer_list<int> numbers) {
  std::vector<terms::DeviceId> found;
  for (const int number : numbers) found.emplace_back(number);
  return found;
}

}  // namespace sluice::topology::testing
