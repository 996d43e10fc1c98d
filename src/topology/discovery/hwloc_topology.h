// Owners of hwloc's C objects, for the files of this folder that read it.
#pragma once

#include <hwloc.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "topology/discovery/sources.h"

namespace sluice::topology {

struct HwlocDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, HwlocDeleter>;

/// All objects of a type, in hwloc's order.
std::vector<hwloc_obj_t> objects_of(hwloc_topology_t topology, hwloc_obj_type_t type);

/// An info attribute of an object; empty if absent.
std::string info_of(hwloc_obj_t object, const char* name);

/// Adds the PCI devices that compute to `found`, linked with the first device that shares their
/// processors.
void add_pci_devices(hwloc_topology_t topology, Findings& found);

}  // namespace sluice::topology
