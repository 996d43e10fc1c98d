#include "topology/sensors/sysfs_sensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "topology/sensors/sysfs.h"

namespace sluice::topology {
namespace {

namespace fs = std::filesystem;

/// Drivers of AMD's and ARM's processors; Intel's is coretemp, whose labels name the package.
constexpr std::string_view kProcessorDrivers[] = {"k10temp", "zenpower", "k8temp", "cpu_thermal"};
/// Between two looks at a counter of energy; one without a range may have wrapped in a longer time.
constexpr std::int64_t kLongestNs = 600'000'000'000;

void keep_highest(std::optional<double>& kept, double value) {
  kept = kept ? std::max(*kept, value) : value;
}

/// A sum of counters. Absent if one of them cannot be read: the sum of the others would look like a
/// counter that started anew, and that of all like new events at the next look.
class Sum {
 public:
  void add(std::optional<std::int64_t> more) {
    is_whole_ = is_whole_ && more.has_value();
    sum_ = sum_.value_or(0) + more.value_or(0);
  }
  std::optional<std::int64_t> value() const { return is_whole_ ? sum_ : std::nullopt; }

 private:
  bool is_whole_ = true;
  std::optional<std::int64_t> sum_;
};

/// The number behind the last `word` of a text; nullopt if there is none.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.rfind(word);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + word.size());
  std::int64_t number = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

struct Temperature {
  double degrees = 0;
  std::optional<double> limit;
};

/// Whether `one` says more of the device's health than `other`: it is nearer to its limit. Without
/// a limit of one of them: it has one, or is hotter.
bool says_more(const Temperature& one, const Temperature& other) {
  if (one.limit && other.limit) return *one.limit - one.degrees < *other.limit - other.degrees;
  if (one.limit || other.limit) return one.limit.has_value();
  return one.degrees > other.degrees;
}

/// "temp1_input" of a folder, in thousandths of a degree, with its limit.
void add_temperature(const fs::path& input, terms::Sensors& to) {
  constexpr double kMilli = 1000;
  const auto value = read_number(input);
  if (!value) return;
  std::string limit = input.filename().string();
  limit.replace(limit.rfind("_input"), std::string::npos, "_crit");
  const auto most = read_number(input.parent_path() / limit);
  Temperature found = {.degrees = static_cast<double>(*value) / kMilli, .limit = {}};
  // Drivers write 0, or some thousand degrees, where the hardware has no limit.
  constexpr std::int64_t kHighestMilli = 200'000;
  if (most && *most > 0 && *most <= kHighestMilli) {
    found.limit = static_cast<double>(*most) / kMilli;
  }
  if (to.temperature_c && !says_more(found, {*to.temperature_c, to.temperature_limit_c})) return;
  to.temperature_c = found.degrees;
  to.temperature_limit_c = found.limit;
}

void add_temperatures(const fs::path& hwmon, terms::Sensors& to) {
  for (const fs::path& file : entries(hwmon, "temp")) {
    if (file.filename().string().ends_with("_input")) add_temperature(file, to);
  }
}

/// Adds the packages' temperatures. Intel's driver has a sensor per package and one per core.
void add_package_temperatures(const fs::path& hwmon, const std::set<std::int64_t>& packages,
                              terms::Sensors& to) {
  for (const fs::path& file : entries(hwmon, "temp")) {
    const std::string name = file.filename().string();
    if (!name.ends_with("_label")) continue;
    const auto package = number_after(read_line(file).value_or(""), "Package id ");
    if (!package || !packages.contains(*package)) continue;
    add_temperature(hwmon / (name.substr(0, name.size() - 5) + "input"), to);
  }
}

void read_processor_temperature(const fs::path& root, const terms::Device& device,
                                const std::set<std::int64_t>& packages, terms::Sensors& to) {
  for (const fs::path& hwmon : entries(root / "class/hwmon", "hwmon")) {
    const std::string driver = read_line(hwmon / "name").value_or("");
    if (driver == "coretemp") add_package_temperatures(hwmon, packages, to);
    if (std::ranges::find(kProcessorDrivers, driver) == std::end(kProcessorDrivers)) continue;
    const std::int64_t node = read_number(hwmon / "device/numa_node").value_or(-1);
    const bool is_here = node < 0 || device.numa_node < 0 || node == device.numa_node;
    if (is_here) add_temperatures(hwmon, to);
  }
}

/// Memory controllers belong to the package that their name has; those without one, to all. The
/// errors of a controller whose name cannot be read stay unknown.
void read_memory_errors(const fs::path& root, const std::set<std::int64_t>& packages,
                        terms::Sensors& to) {
  Sum corrected;
  Sum uncorrected;
  for (const fs::path& controller : entries(root / "devices/system/edac/mc", "mc")) {
    const auto name = read_line(controller / "mc_name");
    if (!name) return;
    auto package = number_after(*name, "Socket#");
    if (!package) package = number_after(*name, "SrcID#");
    if (package && !packages.contains(*package)) continue;
    corrected.add(read_number(controller / "ce_count"));
    uncorrected.add(read_number(controller / "ue_count"));
  }
  to.num_corrected_errors = corrected.value();
  to.num_uncorrected_errors = uncorrected.value();
}

}  // namespace

terms::Sensors SysfsSensors::read(const terms::Device& device, std::int64_t now_ns) {
  terms::Sensors sensors;
  if (device.kind == terms::kCpuKind) read_processors(device, now_ns, sensors);
  if (device.bus_address.empty()) return sensors;
  const fs::path driver = root_ / "bus/pci/devices" / device.bus_address / "hwmon";
  for (const fs::path& hwmon : entries(driver, "hwmon")) {
    add_temperatures(hwmon, sensors);
    constexpr double kMicro = 1e6;
    for (const char* file : {"power1_average", "power1_input"}) {
      const auto power = read_number(hwmon / file);
      if (power) keep_highest(sensors.power_w, static_cast<double>(*power) / kMicro);
    }
  }
  return sensors;
}

void SysfsSensors::read_processors(const terms::Device& device, std::int64_t now_ns,
                                   terms::Sensors& to) {
  std::set<std::int64_t> packages;
  Sum throttles;
  std::map<std::int64_t, std::int64_t> throttles_of;  // by package: each of its threads tells it
  for (const auto& threads : device.cpus) {
    for (const std::int32_t cpu : threads) {
      const fs::path folder = root_ / fmt::format("devices/system/cpu/cpu{}", cpu);
      const auto package = read_number(folder / "topology/physical_package_id");
      if (package) packages.insert(*package);
      const auto of_package = read_number(folder / "thermal_throttle/package_throttle_count");
      if (of_package) {
        auto& most = throttles_of[package.value_or(0)];
        most = std::max(most, *of_package);
      }
      // Threads of a core tell its one number.
      if (cpu != threads.front()) continue;
      throttles.add(read_number(folder / "thermal_throttle/core_throttle_count"));
    }
  }
  for (const auto& [package, count] : throttles_of) throttles.add(count);
  to.num_throttles = throttles.value();
  read_processor_temperature(root_, device, packages, to);
  read_memory_errors(root_, packages, to);
  for (const fs::path& zone : entries(root_ / "class/powercap", "intel-rapl:")) {
    const auto package = number_after(read_line(zone / "name").value_or(""), "package-");
    if (package && packages.contains(*package)) add_power(zone, now_ns, to);
  }
}

void SysfsSensors::add_power(const fs::path& zone, std::int64_t now_ns, terms::Sensors& to) {
  const auto energy_uj = read_number(zone / "energy_uj");
  if (!energy_uj) return;  // for root alone, on most kernels
  const auto [found, is_first] = energy_.try_emplace(zone);
  Energy& last = found->second;
  // Devices that share a package look at the same moment.
  if (is_first || last.time_ns != now_ns) {
    last.power_uw.reset();
    const std::int64_t time_ns = now_ns - last.time_ns;
    const auto range_uj = read_number(zone / "max_energy_range_uj");
    // A package takes no more than a kilowatt, 1 uJ in 1 ns: within so many ns as the range has uJ
    // the counter wraps once at most.
    const std::int64_t longest_ns = std::min(kLongestNs, range_uj.value_or(kLongestNs));
    std::int64_t used_uj = *energy_uj - last.microjoules;
    if (used_uj < 0) used_uj += range_uj.value_or(0);
    if (!is_first && time_ns > 0 && time_ns <= longest_ns && used_uj >= 0) {
      constexpr double kNsPerS = 1e9;
      const double seconds = static_cast<double>(time_ns) / kNsPerS;
      last.power_uw = static_cast<std::int64_t>(static_cast<double>(used_uj) / seconds);
    }
    last.microjoules = *energy_uj;
    last.time_ns = now_ns;
  }
  if (last.power_uw) {
    constexpr double kMicro = 1e6;
    to.power_w = to.power_w.value_or(0) + static_cast<double>(*last.power_uw) / kMicro;
  }
}

}  // namespace sluice::topology
