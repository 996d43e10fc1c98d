#include "description/description.h"

namespace sluice::sim {
namespace {

// Bounds that no machine reaches, and that keep sums of times far from an overflow.
constexpr std::int64_t kLongestNs = std::int64_t{3600} * 1'000'000'000;
constexpr double kSlowest = 1;
constexpr double kFastest = 1e18;
constexpr int kMaxDevices = 1024;
constexpr int kMaxCores = 4096;
constexpr int kMaxEngines = 1024;
constexpr std::int64_t kMaxMemory = std::int64_t{1} << 48;
constexpr std::int64_t kLongestLog = std::int64_t{1} << 30;

struct Parser {
  Status* status;

  void read_path(const Json& json, const std::string& where, CopyPath& path) const {
    ObjectReader reader(json, where, status);
    reader.integer("engines", 1, kMaxEngines, &path.engines);
    reader.number("bytes_per_s", kSlowest, kFastest, &path.bytes_per_s);
    reader.integer("latency_ns", 0, kLongestNs, &path.latency_ns);
    reader.finish();
  }

  void read_operators(const Json& json, const std::string& where, Compute& compute) const {
    ObjectReader reader(json, where, status);
    if (!status->is_ok()) return;
    for (const auto& [kind, value] : json.items()) {
      reader.integer(kind.c_str(), 0, kLongestNs, &compute.operator_ns[kind]);
    }
    reader.finish();
  }

  void read_compute(const Json& json, const std::string& where, Compute& compute) const {
    ObjectReader reader(json, where, status);
    if (reader.has("kernel_ns")) {
      compute.kernel_ns = 0;
      reader.integer("kernel_ns", 0, kLongestNs, &*compute.kernel_ns);
    }
    reader.number("flops_per_s", kSlowest, kFastest, &compute.flops_per_s);
    reader.number("bytes_per_s", kSlowest, kFastest, &compute.bytes_per_s);
    reader.integer("launch_ns", 0, kLongestNs, &compute.launch_ns);
    reader.integer("switch_ns", 0, kLongestNs, &compute.switch_ns);
    reader.object("operator_ns", [&](const Json& table, const std::string& path) {
      read_operators(table, path, compute);
    });
    reader.finish();
  }

  void read_partition(const Json& json, const std::string& where, Partition& partition) const {
    ObjectReader reader(json, where, status);
    int scheme = 0;
    reader.require("scheme");
    reader.one_of("scheme", {"exact", "green", "mask"}, &scheme);
    partition.scheme = static_cast<PartitionScheme>(scheme);
    reader.integer("minimum", 1, kMaxCores, &partition.minimum);
    reader.integer("alignment", 1, kMaxCores, &partition.alignment);
    reader.integer("block_elements", 1, 1 << 20, &partition.block_elements);
    reader.boolean("check", &partition.is_checked);
    reader.finish();
  }

  void read_copy(const Json& json, const std::string& where, Device& device) const {
    ObjectReader reader(json, where, status);
    const auto read = [&](const char* key, CopyPath& path) {
      reader.object(key,
                    [&](const Json& value, const std::string& at) { read_path(value, at, path); });
    };
    read("to_device", device.to_device);
    read("to_host", device.to_host);
    read("within", device.within);
    reader.finish();
  }

  /// One entry stands for "count" devices; "{}" in name and bus address becomes the index.
  void read_devices(const Json& json, const std::string& where, std::vector<Device>& all) const {
    ObjectReader reader(json, where, status);
    Device device;
    std::int64_t count = 1;
    reader.integer("count", 1, kMaxDevices, &count);
    reader.text("name", &device.name);
    reader.text("bus_address", &device.bus_address);
    reader.integer("cores", 1, kMaxCores, &device.cores);
    reader.integer("memory_bytes", 0, kMaxMemory, &device.memory_bytes);
    reader.boolean("own_memory", &device.own_memory);
    reader.boolean("host_memory", &device.host_memory);
    reader.check(device.own_memory || device.host_memory, "host_memory",
                 "a device without own_memory needs it");
    reader.boolean("exclusive_cores", &device.exclusive_cores);
    reader.object("partition", [&](const Json& value, const std::string& path) {
      read_partition(value, path, device.partition);
    });
    reader.object("compute", [&](const Json& value, const std::string& path) {
      read_compute(value, path, device.compute);
    });
    reader.object("copy", [&](const Json& value, const std::string& path) {
      read_copy(value, path, device);
    });
    reader.finish();
    const auto total = static_cast<std::int64_t>(all.size()) + count;
    reader.check(total <= kMaxDevices, "", "there are more than " + std::to_string(kMaxDevices));
    for (std::int64_t i = 0; i < count && status->is_ok(); ++i) {
      all.push_back(numbered(device, static_cast<int>(all.size())));
    }
  }

  static Device numbered(Device device, int index) {
    for (std::string* text : {&device.name, &device.bus_address}) {
      const std::size_t at = text->find("{}");
      if (at != std::string::npos) text->replace(at, 2, std::to_string(index));
    }
    return device;
  }

  void read_link(const Json& json, const std::string& where, Description& into) const {
    ObjectReader reader(json, where, status);
    Link link;
    const auto last = static_cast<std::int64_t>(into.devices.size()) - 1;
    reader.require("a");
    reader.require("b");
    reader.integer("a", 0, last, &link.device_a);
    reader.integer("b", 0, last, &link.device_b);
    reader.number("bytes_per_s", kSlowest, kFastest, &link.path.bytes_per_s);
    reader.integer("latency_ns", 0, kLongestNs, &link.path.latency_ns);
    reader.finish();
    reader.check(link.device_a != link.device_b, "b", "a device is linked to itself");
    if (link.device_a > link.device_b) std::swap(link.device_a, link.device_b);
    for (const Link& other : into.links) {
      // From the lower to the higher, so that a pair has one form.
      const bool is_new = other.device_a != link.device_a || other.device_b != link.device_b;
      reader.check(is_new, "", "these two devices are linked already");
    }
    into.links.push_back(link);
  }

  void read_jitter(const Json& json, const std::string& where, Jitter& jitter) const {
    ObjectReader reader(json, where, status);
    int kind = 0;
    reader.require("distribution");
    reader.one_of("distribution", {"none", "uniform", "normal", "exponential"}, &kind);
    jitter.kind = static_cast<JitterKind>(kind);
    reader.number("spread", 0, 1, &jitter.spread);
    reader.finish();
  }

  void read(const Json& json, Description& into) const {
    ObjectReader reader(json, "", status);
    std::int64_t seed = 1;
    reader.integer("seed", 0, std::int64_t{1} << 53, &seed);
    into.seed = static_cast<std::uint64_t>(seed);
    reader.integer("max_log_bytes", 0, kLongestLog, &into.max_log_bytes);
    reader.object("jitter", [&](const Json& value, const std::string& path) {
      read_jitter(value, path, into.jitter);
    });
    if (reader.has("devices")) into.devices.clear();
    reader.array("devices", [&](const Json& value, const std::string& path) {
      read_devices(value, path, into.devices);
    });
    reader.check(!into.devices.empty(), "devices", "there must be at least one");
    reader.array("links",
                 [&](const Json& value, const std::string& path) { read_link(value, path, into); });
    reader.array("faults", [&](const Json& value, const std::string& path) {
      const auto count = static_cast<int>(into.devices.size());
      into.faults.push_back(read_fault(value, path, count, status));
    });
    reader.finish();
  }
};

}  // namespace

Status parse_description(std::string_view text, Description* description) {
  Json json;
  Status status = parse_json(text, &json);
  if (!status.is_ok()) return status;
  Description read;
  Parser{&status}.read(json, read);
  if (status.is_ok()) *description = std::move(read);
  return status;
}

}  // namespace sluice::sim
