#include <fmt/format.h>

#include <algorithm>

#include "base/process/memory_limit.h"
#include "base/system/processor.h"
#include "topology/discovery/hwloc_topology.h"

namespace sluice::topology {
namespace {

/// Removes processors that are not this process's; false if hwloc cannot.
bool keep_process_cpus(hwloc_topology_t topology) {
  const std::vector<std::int32_t> cpus = process_cpus();
  if (cpus.empty()) return true;  // the system does not tell
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  for (const std::int32_t cpu : cpus) hwloc_bitmap_set(set, static_cast<unsigned>(cpu));
  const bool is_restricted = hwloc_topology_restrict(topology, set, 0) == 0;
  hwloc_bitmap_free(set);
  return is_restricted;
}

Result<HwlocTopology> load(const HwlocInput& input) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return make_error(Code::kUnavailable, "hwloc did not start");
  HwlocTopology topology(raw);
  if (!input.synthetic.empty()) {
    if (hwloc_topology_set_synthetic(raw, input.synthetic.c_str()) != 0) {
      return invalid_argument(
          "\"{}\" is no synthetic topology; hwloc's form is e.g. \"numa:2 core:4 pu:2\"",
          input.synthetic);
    }
  } else if (!input.xml.empty()) {
    const int size = static_cast<int>(input.xml.size()) + 1;
    if (hwloc_topology_set_xmlbuffer(raw, input.xml.c_str(), size) != 0) {
      return invalid_argument("hwloc does not understand this XML");
    }
  } else {
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
  }
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(raw) != 0 ||
      (hwloc_topology_is_thissystem(raw) != 0 && !keep_process_cpus(raw))) {
    return make_error(Code::kUnavailable, "hwloc could not read the topology");
  }
  return topology;
}

/// The processors of a future device, and the number of its NUMA node.
struct Part {
  hwloc_const_cpuset_t cpus = nullptr;
  std::int32_t numa_node = -1;
};

bool has_cpus(hwloc_obj_t object) {
  return object->cpuset != nullptr && hwloc_bitmap_iszero(object->cpuset) == 0;
}

/// NUMA nodes with processors. If nodes share processors, such as fast and ordinary memory, only
/// the first.
std::vector<Part> numa_parts(hwloc_topology_t topology) {
  std::vector<Part> parts;
  for (const hwloc_obj_t node : objects_of(topology, HWLOC_OBJ_NUMANODE)) {
    const auto is_same = [&](const Part& part) {
      return hwloc_bitmap_isequal(part.cpus, node->cpuset) != 0;
    };
    if (!has_cpus(node) || std::ranges::any_of(parts, is_same)) continue;
    parts.push_back({node->cpuset, static_cast<std::int32_t>(node->os_index)});
  }
  return parts;
}

std::vector<Part> package_parts(hwloc_topology_t topology) {
  std::vector<Part> parts;
  for (const hwloc_obj_t package : objects_of(topology, HWLOC_OBJ_PACKAGE)) {
    if (!has_cpus(package)) continue;
    hwloc_obj_t node = hwloc_get_next_obj_covering_cpuset_by_type(topology, package->cpuset,
                                                                  HWLOC_OBJ_NUMANODE, nullptr);
    const bool has_node = node != nullptr;
    parts.push_back({package->cpuset, has_node ? static_cast<std::int32_t>(node->os_index) : -1});
  }
  return parts;
}

std::vector<std::int32_t> numbers_of(hwloc_const_cpuset_t cpus) {
  std::vector<std::int32_t> numbers;
  for (int cpu = hwloc_bitmap_first(cpus); cpu >= 0; cpu = hwloc_bitmap_next(cpus, cpu)) {
    numbers.push_back(cpu);
  }
  return numbers;
}

/// Processors by core. Each processor is a core if hwloc reports no cores.
std::vector<std::vector<std::int32_t>> cores_in(hwloc_topology_t topology,
                                                hwloc_const_cpuset_t cpus) {
  std::vector<std::vector<std::int32_t>> cores;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_CORE, HWLOC_OBJ_PU}) {
    for (const hwloc_obj_t core : objects_of(topology, type)) {
      if (has_cpus(core) && hwloc_bitmap_isincluded(core->cpuset, cpus) != 0) {
        cores.push_back(numbers_of(core->cpuset));
      }
    }
    if (!cores.empty()) break;
  }
  return cores;
}

/// The processors' share of their NUMA nodes' memory, in proportion to their number, or what this
/// process may use of it.
std::int64_t memory_of(hwloc_topology_t topology, hwloc_const_cpuset_t cpus) {
  double bytes = 0;
  for (const hwloc_obj_t node : objects_of(topology, HWLOC_OBJ_NUMANODE)) {
    if (!has_cpus(node)) continue;
    hwloc_bitmap_t shared = hwloc_bitmap_alloc();
    hwloc_bitmap_and(shared, node->cpuset, cpus);
    const double part = static_cast<double>(hwloc_bitmap_weight(shared)) /
                        static_cast<double>(hwloc_bitmap_weight(node->cpuset));
    bytes += part * static_cast<double>(node->attr->numanode.local_memory);
    hwloc_bitmap_free(shared);
  }
  const auto all = static_cast<std::int64_t>(bytes);
  return hwloc_topology_is_thissystem(topology) != 0 ? std::min(all, usable_memory_bytes()) : all;
}

/// Data and unified caches, those of the same level together.
std::vector<terms::Cache> caches_of(hwloc_topology_t topology, hwloc_const_cpuset_t cpus) {
  std::vector<terms::Cache> caches;
  for (int type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L5CACHE; ++type) {
    terms::Cache cache = {.name = fmt::format("L{}", type - HWLOC_OBJ_L1CACHE + 1)};
    for (const hwloc_obj_t object : objects_of(topology, static_cast<hwloc_obj_type_t>(type))) {
      if (!has_cpus(object) || hwloc_bitmap_intersects(object->cpuset, cpus) == 0) continue;
      cache.size_bytes = static_cast<std::int64_t>(object->attr->cache.size);
      ++cache.count;
    }
    if (cache.count > 0) caches.push_back(std::move(cache));
  }
  return caches;
}

std::string processor_name(hwloc_topology_t topology, hwloc_const_cpuset_t cpus) {
  hwloc_obj_t package =
      hwloc_get_next_obj_covering_cpuset_by_type(topology, cpus, HWLOC_OBJ_PACKAGE, nullptr);
  for (const hwloc_obj_t object : {package, hwloc_get_root_obj(topology)}) {
    std::string name = object == nullptr ? "" : info_of(object, "CPUModel");
    if (!name.empty()) return name;
  }
  return hwloc_topology_is_thissystem(topology) != 0 ? "processor" : "synthetic processor";
}

terms::Device describe_part(hwloc_topology_t topology, const Part& part) {
  terms::Device device;
  device.kind = terms::kCpuKind;
  device.name = processor_name(topology, part.cpus);
  device.numa_node = part.numa_node;
  device.cpus = cores_in(topology, part.cpus);
  device.num_cores = static_cast<std::int32_t>(device.cpus.size());
  device.memory_bytes = memory_of(topology, part.cpus);
  device.caches = caches_of(topology, part.cpus);
  return device;
}

void add_processors(hwloc_topology_t topology, Findings& found) {
  auto parts = numa_parts(topology);
  auto packages = package_parts(topology);
  // Where a node spans several packages, the packages are the devices.
  if (packages.size() > parts.size()) parts = std::move(packages);
  for (const Part& part : parts) {
    terms::Device device = describe_part(topology, part);
    device.id = terms::DeviceId(found.devices.size());
    for (const terms::Device& other : found.devices) {
      found.links.push_back({other.id, device.id, "numa"});
    }
    found.devices.push_back(std::move(device));
  }
}

}  // namespace

std::vector<hwloc_obj_t> objects_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  std::vector<hwloc_obj_t> objects;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;) {
    objects.push_back(object);
  }
  return objects;
}

std::string info_of(hwloc_obj_t object, const char* name) {
  const char* text = hwloc_obj_get_info_by_name(object, name);
  return text == nullptr ? "" : text;
}

Result<Findings> find_hwloc(const HwlocInput& input) {
  const HwlocTopology topology = SLUICE_TRY(load(input));
  Findings found = {.report = {.source = "hwloc"}};
  add_processors(topology.get(), found);
  add_pci_devices(topology.get(), found);
  found.report.num_devices = static_cast<std::int32_t>(found.devices.size());
  if (!input.synthetic.empty()) found.report.reason = "synthetic: " + input.synthetic;
  return found;
}

}  // namespace sluice::topology
