#include "topology/map/logical_ids.h"

#include <algorithm>
#include <tuple>

namespace sluice::topology {
namespace {

using Neighbours = std::vector<std::vector<std::size_t>>;

/// Ascending, each once.
Neighbours neighbours_of(std::size_t num_nodes,
                         std::span<const std::pair<std::size_t, std::size_t>> edges) {
  Neighbours next(num_nodes);
  for (const auto& [a, b] : edges) {
    next[a].push_back(b);
    next[b].push_back(a);
  }
  for (auto& nodes : next) {
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  }
  return next;
}

/// The nodes that are reached from `start`, ascending.
std::vector<std::size_t> component_of(std::size_t start, const Neighbours& next) {
  std::vector<bool> is_seen(next.size());
  std::vector<std::size_t> found = {start};
  is_seen[start] = true;
  for (std::size_t at = 0; at < found.size(); ++at) {
    for (const std::size_t node : next[found[at]]) {
      if (!is_seen[node]) found.push_back(node);
      is_seen[node] = true;
    }
  }
  std::ranges::sort(found);
  return found;
}

/// Walks a component. Each step goes to the neighbour with the fewest unvisited neighbours, because
/// a later step could not reach a dead end (Warnsdorff's rule for knight's tours).
class Walk {
 public:
  Walk(const Neighbours& next, std::size_t component_size)
      : next_(next), is_visited_(next.size()), component_size_(component_size) {}

  /// A path through the whole component from `start`, or an empty one if none was found within the
  /// steps that all searches of this walk share.
  std::vector<std::size_t> path_from(std::size_t start) {
    path_.clear();
    return extend(start) ? path_ : std::vector<std::size_t>();
  }

  /// Depth first: the whole component, stepping back where the walk is stuck.
  std::vector<std::size_t> depth_first(std::size_t start) {
    std::vector<std::size_t> order;
    std::vector<std::size_t> trail = {start};
    std::fill(is_visited_.begin(), is_visited_.end(), false);
    is_visited_[start] = true;
    order.push_back(start);
    while (!trail.empty()) {
      const auto ways = ways_on(trail.back());
      if (ways.empty()) {
        trail.pop_back();
        continue;
      }
      is_visited_[ways.front()] = true;
      order.push_back(ways.front());
      trail.push_back(ways.front());
    }
    return order;
  }

 private:
  static constexpr int kMaxSteps = 20000;
  static constexpr std::size_t kMaxSearched = 256;  // bounds the depth of the recursion

  std::vector<std::size_t> unvisited(std::size_t node) const {
    std::vector<std::size_t> found;
    std::ranges::copy_if(next_[node], std::back_inserter(found),
                         [&](std::size_t other) { return !is_visited_[other]; });
    return found;
  }

  /// Unvisited neighbours, fewest ways on first, then the lower number.
  std::vector<std::size_t> ways_on(std::size_t node) const {
    auto ways = unvisited(node);
    std::ranges::stable_sort(ways, {}, [&](std::size_t way) { return unvisited(way).size(); });
    return ways;
  }

  bool extend(std::size_t node) {
    if (++steps_ > kMaxSteps || component_size_ > kMaxSearched) return false;
    path_.push_back(node);
    is_visited_[node] = true;
    if (path_.size() == component_size_) return true;
    for (const std::size_t way : ways_on(node)) {
      if (extend(way)) return true;
    }
    path_.pop_back();
    is_visited_[node] = false;
    return false;
  }

  const Neighbours& next_;
  std::vector<bool> is_visited_;
  std::vector<std::size_t> path_;
  std::size_t component_size_;
  int steps_ = 0;
};

/// `component` ascending.
std::vector<std::size_t> order_component(std::vector<std::size_t> component,
                                         const Neighbours& next) {
  // The ends of a chain have one neighbour; where all have as many, the lowest number starts.
  std::ranges::stable_sort(component, {}, [&](std::size_t node) { return next[node].size(); });
  Walk walk(next, component.size());
  for (const std::size_t start : component) {
    auto path = walk.path_from(start);
    if (!path.empty()) return path;
  }
  return walk.depth_first(component.front());
}

/// Where a device stands before links are looked at.
auto natural_key(const terms::Device& device) {
  return std::tuple(device.kind != terms::kCpuKind, device.kind, device.backend, device.bus_address,
                    device.backend_index, device.numa_node, device.name);
}

/// Devices of one class may share a core range.
bool is_same_class(const terms::Device& a, const terms::Device& b) {
  return a.kind == b.kind && a.backend == b.backend;
}

/// Indices into `devices` of the links between devices of one class.
std::vector<std::pair<std::size_t, std::size_t>> class_edges(
    const std::vector<terms::Device>& devices, const std::vector<Link>& links) {
  const auto index_of = [&](terms::DeviceId id) {
    return static_cast<std::size_t>(std::ranges::find(devices, id, &terms::Device::id) -
                                    devices.begin());
  };
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  for (const Link& link : links) {
    const std::size_t a = index_of(link.a);
    const std::size_t b = index_of(link.b);
    if (is_same_class(devices[a], devices[b])) edges.emplace_back(a, b);
  }
  return edges;
}

/// Sorted by natural key, then along the links.
std::vector<terms::Device> in_order(std::vector<terms::Device> devices,
                                    const std::vector<Link>& links) {
  std::ranges::stable_sort(devices, {}, natural_key);
  auto order = order_along_links(devices.size(), class_edges(devices, links));
  // Components come by their lowest number, so classes stay together.
  std::vector<terms::Device> ordered;
  for (const std::size_t index : order) ordered.push_back(std::move(devices[index]));
  return ordered;
}

Status check_named_once(const DeviceMap& map, std::span<const terms::DeviceId> ids) {
  if (ids.empty()) return invalid_argument("no device named; a runtime needs at least one");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (find_device(map, ids[i]) == nullptr) {
      return make_error(Code::kNotFound, "no device {}; the map has 0 to {}", ids[i].value(),
                        static_cast<int>(map.devices.size()) - 1);
    }
    if (std::ranges::count(ids, ids[i]) > 1) {
      return invalid_argument("device {} is named twice", ids[i].value());
    }
  }
  return ok_status();
}

}  // namespace

std::vector<std::size_t> order_along_links(
    std::size_t num_nodes, std::span<const std::pair<std::size_t, std::size_t>> edges) {
  const Neighbours next = neighbours_of(num_nodes, edges);
  std::vector<bool> is_ordered(num_nodes);
  std::vector<std::size_t> order;
  for (std::size_t node = 0; node < num_nodes; ++node) {
    if (is_ordered[node]) continue;
    for (const std::size_t member : order_component(component_of(node, next), next)) {
      is_ordered[member] = true;
      order.push_back(member);
    }
  }
  return order;
}

DeviceMap with_logical_ids(DeviceMap map) {
  map.devices = in_order(std::move(map.devices), map.links);
  std::vector<terms::DeviceId> old_ids;
  for (std::size_t i = 0; i < map.devices.size(); ++i) {
    old_ids.push_back(map.devices[i].id);
    map.devices[i].id = terms::DeviceId(i);
  }
  const auto renumbered = [&](terms::DeviceId id) {
    return terms::DeviceId(
        static_cast<std::size_t>(std::ranges::find(old_ids, id) - old_ids.begin()));
  };
  for (Link& link : map.links) {
    link.a = renumbered(link.a);
    link.b = renumbered(link.b);
    if (link.b < link.a) std::swap(link.a, link.b);
  }
  std::ranges::sort(map.links, {}, [](const Link& link) { return std::tuple(link.a, link.b); });
  return map;
}

bool are_adjacent(const DeviceMap& map, const terms::Device& a, const terms::Device& b) {
  return is_same_class(a, b) && are_linked(map, a.id, b.id);
}

Result<DeviceMap> select_devices(const DeviceMap& map, std::span<const terms::DeviceId> ids) {
  SLUICE_TRY(check_named_once(map, ids));
  const auto is_selected = [&](terms::DeviceId id) {
    return std::ranges::find(ids, id) != ids.end();
  };
  DeviceMap part;
  std::ranges::copy_if(map.links, std::back_inserter(part.links), [&](const Link& link) {
    return is_selected(link.a) && is_selected(link.b);
  });
  std::vector<terms::Device> devices;
  std::ranges::copy_if(map.devices, std::back_inserter(devices),
                       [&](const terms::Device& device) { return is_selected(device.id); });
  part.devices = in_order(std::move(devices), part.links);
  for (std::size_t i = 1; i < part.devices.size(); ++i) {
    const terms::Device& before = part.devices[i - 1];
    const terms::Device& device = part.devices[i];
    if (is_same_class(before, device) && !are_linked(part, before.id, device.id)) {
      return make_error(Code::kFailedPrecondition,
                        "{} and {} are not connected; the {} devices of one runtime must form a "
                        "chain of linked devices",
                        describe(before), describe(device), device.kind);
    }
  }
  return part;
}

}  // namespace sluice::topology
