#include "topology/map/device_map_json.h"

#include <set>

#include "base/file.h"
#include "base/json/json_reader.h"

namespace sluice::topology {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "sluice device map";
// A map is a file that anybody may have edited: limits keep its products in 32 bits and its lists
// in memory.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 24;
constexpr std::size_t kMaxDevices = 1024;
constexpr std::size_t kMaxLinks = 16384;
constexpr std::int64_t kMaxCores = 4096;  // of a device
constexpr std::size_t kMaxThreads = 64;   // of a core
constexpr std::size_t kMaxEntries = 256;  // caches, features, sources
constexpr std::int64_t kMaxInt = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();

// ---- writing ------------------------------------------------------------------------------------

Json cache_json(const terms::Cache& cache) {
  return {{"name", cache.name}, {"size_bytes", cache.size_bytes}, {"count", cache.count}};
}

Json device_json(const terms::Device& device) {
  Json json = {{"id", device.id.value()}, {"kind", device.kind}, {"name", device.name}};
  if (!device.backend.empty()) {
    json["backend"] = {{"name", device.backend}, {"index", device.backend_index}};
  }
  if (!device.bus_address.empty()) json["bus_address"] = device.bus_address;
  if (device.numa_node >= 0) json["numa_node"] = device.numa_node;
  json["num_cores"] = device.num_cores;
  json["memory_bytes"] = device.memory_bytes;
  if (!device.cpus.empty()) json["cpus"] = device.cpus;
  for (const terms::Cache& cache : device.caches) json["caches"].push_back(cache_json(cache));
  if (!device.features.empty()) json["features"] = device.features;
  return json;
}

Json link_json(const Link& link) {
  Json json = {{"from", link.a.value()}, {"to", link.b.value()}, {"kind", link.kind}};
  if (link.bandwidth_bytes_per_second > 0) {
    json["bandwidth_bytes_per_second"] = link.bandwidth_bytes_per_second;
  }
  if (link.latency_ns > 0) json["latency_ns"] = link.latency_ns;
  return json;
}

Json source_json(const SourceReport& report) {
  Json json = {{"source", report.source}, {"num_devices", report.num_devices}};
  if (!report.reason.empty()) json["reason"] = report.reason;
  return json;
}

// ---- reading ------------------------------------------------------------------------------------

Result<std::int32_t> int32_or(const JsonValue& value, std::string_view name, std::int32_t fallback,
                              std::int64_t least, std::int64_t most = kMaxInt32) {
  return static_cast<std::int32_t>(SLUICE_TRY(value.int_or(name, fallback, least, most)));
}

Status check_version(const JsonValue& root) {
  const JsonValue format = SLUICE_TRY(root.field("format"));
  if (SLUICE_TRY(format.as_text()) != kFormat) {
    return invalid_argument("format: not \"{}\"; this is another sort of file", kFormat);
  }
  const JsonValue version = SLUICE_TRY(root.field("version"));
  const std::int64_t major = SLUICE_TRY(SLUICE_TRY(version.field("major")).as_int(0, kMaxInt32));
  // Any minor version is read: it only adds fields, which this reader passes over.
  SLUICE_TRY(SLUICE_TRY(version.field("minor")).as_int(0, kMaxInt32));
  if (major == kDeviceMapMajor) return ok_status();
  return make_error(Code::kFailedPrecondition,
                    "version.major: {}, this program reads {}; run its own `sluice discover`",
                    major, kDeviceMapMajor);
}

Result<terms::Cache> read_cache(const JsonValue& value) {
  terms::Cache cache;
  cache.name = SLUICE_TRY(SLUICE_TRY(value.field("name")).as_text());
  cache.size_bytes = SLUICE_TRY(SLUICE_TRY(value.field("size_bytes")).as_int(0, kMaxInt));
  cache.count = SLUICE_TRY(int32_or(value, "count", 1, 1));
  return cache;
}

Status read_cpus(const JsonValue& value, terms::Device& device) {
  const auto cores = SLUICE_TRY(value.items_or_none("cpus", kMaxCores));
  // An empty list is allowed: accelerators have cores without processor numbers.
  if (!cores.empty() && cores.size() != static_cast<std::size_t>(device.num_cores)) {
    return invalid_argument("{}.cpus: {} cores, but num_cores is {}", value.path(), cores.size(),
                            device.num_cores);
  }
  for (const JsonValue& core : cores) {
    std::vector<std::int32_t> threads;
    for (const JsonValue& thread : SLUICE_TRY(core.as_items(kMaxThreads))) {
      threads.push_back(static_cast<std::int32_t>(SLUICE_TRY(thread.as_int(0, kMaxInt32))));
    }
    if (threads.empty()) return invalid_argument("{}: a core without a processor", core.path());
    device.cpus.push_back(std::move(threads));
  }
  return ok_status();
}

Status read_backend(const JsonValue& value, terms::Device& device) {
  const auto backend = value.field("backend");
  if (!backend.is_ok()) return ok_status();
  device.backend = SLUICE_TRY(SLUICE_TRY(backend->field("name")).as_text());
  device.backend_index =
      static_cast<std::int32_t>(SLUICE_TRY(SLUICE_TRY(backend->field("index")).as_int(0, 65535)));
  if (device.backend.empty()) {
    return invalid_argument("{}.name: empty; leave `backend` out if no plug-in drives the device",
                            backend->path());
  }
  return ok_status();
}

Result<terms::Device> read_device(const JsonValue& value, std::size_t place) {
  terms::Device device;
  const JsonValue id = SLUICE_TRY(value.field("id"));
  // Ids are places in the list, so that a link or a lock names a device by its index.
  device.id = terms::DeviceId(place);
  if (SLUICE_TRY(id.as_int(0, kMaxInt32)) != device.id.value()) {
    return invalid_argument("{}: ids count up from 0 in the order of the list", id.path());
  }
  const JsonValue kind = SLUICE_TRY(value.field("kind"));
  device.kind = SLUICE_TRY(kind.as_text());
  if (device.kind.empty()) return invalid_argument("{}: empty", kind.path());
  device.name = SLUICE_TRY(value.text_or("name", ""));
  SLUICE_TRY(read_backend(value, device));
  device.bus_address = SLUICE_TRY(value.text_or("bus_address", ""));
  device.numa_node = SLUICE_TRY(int32_or(value, "numa_node", -1, 0));
  device.num_cores = static_cast<std::int32_t>(
      SLUICE_TRY(SLUICE_TRY(value.field("num_cores")).as_int(0, kMaxCores)));
  device.memory_bytes = SLUICE_TRY(value.int_or("memory_bytes", 0, 0, kMaxInt));
  SLUICE_TRY(read_cpus(value, device));
  for (const JsonValue& cache : SLUICE_TRY(value.items_or_none("caches", kMaxEntries))) {
    device.caches.push_back(SLUICE_TRY(read_cache(cache)));
  }
  for (const JsonValue& feature : SLUICE_TRY(value.items_or_none("features", kMaxEntries))) {
    device.features.push_back(SLUICE_TRY(feature.as_text()));
  }
  return device;
}

Result<terms::DeviceId> read_end(const JsonValue& link, std::string_view name,
                                 const DeviceMap& map) {
  const JsonValue end = SLUICE_TRY(link.field(name));
  const std::int64_t id = SLUICE_TRY(end.as_int(0, kMaxInt32));
  if (id >= static_cast<std::int64_t>(map.devices.size())) {
    return invalid_argument("{}: no device {}; the map has {}", end.path(), id, map.devices.size());
  }
  return terms::DeviceId(static_cast<std::int32_t>(id));
}

Result<Link> read_link(const JsonValue& value, const DeviceMap& map) {
  Link link;
  link.a = SLUICE_TRY(read_end(value, "from", map));
  link.b = SLUICE_TRY(read_end(value, "to", map));
  if (link.a == link.b) {
    return invalid_argument("{}: joins device {} with itself", value.path(), link.a.value());
  }
  link.kind = SLUICE_TRY(value.text_or("kind", ""));
  link.bandwidth_bytes_per_second =
      SLUICE_TRY(value.int_or("bandwidth_bytes_per_second", 0, 0, kMaxInt));
  link.latency_ns = SLUICE_TRY(value.int_or("latency_ns", 0, 0, kMaxInt));
  return link;
}

Status read_links(const JsonValue& root, DeviceMap& map) {
  std::set<std::pair<terms::DeviceId, terms::DeviceId>> seen;
  for (const JsonValue& value : SLUICE_TRY(root.items_or_none("links", kMaxLinks))) {
    Link link = SLUICE_TRY(read_link(value, map));
    // A link has no direction.
    if (!seen.insert(std::minmax(link.a, link.b)).second) {
      return invalid_argument("{}: devices {} and {} are linked already", value.path(),
                              link.a.value(), link.b.value());
    }
    map.links.push_back(std::move(link));
  }
  return ok_status();
}

/// A processor of two cores would be given to two groups.
Status check_cpus(const DeviceMap& map) {
  std::set<std::int32_t> seen;
  for (std::size_t i = 0; i < map.devices.size(); ++i) {
    for (const auto& threads : map.devices[i].cpus) {
      for (const std::int32_t cpu : threads) {
        if (seen.insert(cpu).second) continue;
        return invalid_argument("devices[{}].cpus: processor {} is in another core already", i,
                                cpu);
      }
    }
  }
  return ok_status();
}

Result<SourceReport> read_source(const JsonValue& value) {
  SourceReport report;
  report.source = SLUICE_TRY(SLUICE_TRY(value.field("source")).as_text());
  report.num_devices = SLUICE_TRY(int32_or(value, "num_devices", 0, 0));
  report.reason = SLUICE_TRY(value.text_or("reason", ""));
  return report;
}

}  // namespace

std::string print_device_map(const DeviceMap& map) {
  Json json = {{"format", kFormat},
               {"version", {{"major", kDeviceMapMajor}, {"minor", kDeviceMapMinor}}},
               {"devices", Json::array()},
               {"links", Json::array()},
               {"sources", Json::array()}};
  for (const terms::Device& device : map.devices) json["devices"].push_back(device_json(device));
  for (const Link& link : map.links) json["links"].push_back(link_json(link));
  for (const SourceReport& report : map.sources) json["sources"].push_back(source_json(report));
  // Names of devices come from drivers and need not be UTF-8, on which dump would throw.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<DeviceMap> parse_device_map(std::string_view text) {
  const nlohmann::json json = SLUICE_TRY(parse_json(text));
  const JsonValue root(json, "");
  SLUICE_TRY(check_version(root));
  DeviceMap map;
  for (const JsonValue& value :
       SLUICE_TRY(SLUICE_TRY(root.field("devices")).as_items(kMaxDevices))) {
    map.devices.push_back(SLUICE_TRY(read_device(value, map.devices.size())));
  }
  SLUICE_TRY(check_cpus(map));
  SLUICE_TRY(read_links(root, map));
  for (const JsonValue& value : SLUICE_TRY(root.items_or_none("sources", kMaxEntries))) {
    map.sources.push_back(SLUICE_TRY(read_source(value)));
  }
  return map;
}

Result<DeviceMap> read_device_map(const std::filesystem::path& path) {
  const std::string text = SLUICE_TRY(read_text_file(path, kMaxBytes));
  return parse_device_map(text).with_context(fmt::format("device map \"{}\"", path.string()));
}

Status write_device_map(const std::filesystem::path& path, const DeviceMap& map) {
  const std::string text = print_device_map(map);
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace sluice::topology
