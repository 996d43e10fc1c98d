#include <fmt/format.h>

#include "topology/discovery/hwloc_topology.h"

namespace sluice::topology {
namespace {

using PciAttributes = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

// PCI class codes: class in the high byte, subclass in the low one (PCI Code and ID Assignment).
constexpr unsigned kVgaController = 0x0300;
constexpr unsigned k3dController = 0x0302;
constexpr unsigned kOtherDisplay = 0x0380;
constexpr unsigned kCoprocessor = 0x0b40;
constexpr unsigned kAcceleratorClass = 0x12;

/// Vendors of GPUs; VGA controllers of other vendors only draw a console.
bool makes_gpus(unsigned vendor) {
  constexpr unsigned kAmd = 0x1002;
  constexpr unsigned kIntel = 0x8086;
  constexpr unsigned kNvidia = 0x10de;
  return vendor == kAmd || vendor == kIntel || vendor == kNvidia;
}

/// The kind of device; empty for a device that does not compute.
std::string kind_of(const PciAttributes& device) {
  const unsigned type = device.class_id;
  if (type == k3dController || type == kOtherDisplay) return "gpu";
  if (type == kVgaController && makes_gpus(device.vendor_id)) return "gpu";
  if (type == kCoprocessor || type >> 8U == kAcceleratorClass) return "accelerator";
  return "";
}

std::string name_of(hwloc_obj_t object) {
  const std::string vendor = info_of(object, "PCIVendor");
  const std::string device = info_of(object, "PCIDevice");
  if (!vendor.empty() && !device.empty()) return vendor + " " + device;
  const PciAttributes& pci = object->attr->pcidev;
  return fmt::format("PCI device {:04x}:{:04x}", pci.vendor_id, pci.device_id);
}

/// The processor device near a PCI device; none if several processor devices are equally near.
const terms::Device* nearest(hwloc_topology_t topology, hwloc_obj_t object, const Findings& found) {
  hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, object);
  const terms::Device* match = nullptr;
  for (const terms::Device& device : found.devices) {
    if (device.kind != terms::kCpuKind || device.cpus.empty()) continue;
    const auto cpu = static_cast<unsigned>(device.cpus.front().front());
    if (place == nullptr || hwloc_bitmap_isset(place->cpuset, cpu) == 0) continue;
    if (match != nullptr) return nullptr;
    match = &device;
  }
  return match;
}

}  // namespace

void add_pci_devices(hwloc_topology_t topology, Findings& found) {
  for (const hwloc_obj_t object : objects_of(topology, HWLOC_OBJ_PCI_DEVICE)) {
    const PciAttributes& pci = object->attr->pcidev;
    std::string kind = kind_of(pci);
    if (kind.empty()) continue;
    terms::Device device = {.id = terms::DeviceId(found.devices.size()), .kind = std::move(kind)};
    device.name = name_of(object);
    device.bus_address = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", static_cast<unsigned>(pci.domain),
                                     pci.bus, pci.dev, pci.func);
    if (const terms::Device* node = nearest(topology, object, found)) {
      device.numa_node = node->numa_node;
      found.links.push_back({node->id, device.id, "pcie"});
    }
    found.devices.push_back(std::move(device));
  }
}

}  // namespace sluice::topology
