#include "sluice/devices/device_table.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace sluice::tool {
namespace {

using terms::Device;
using topology::DeviceMap;
using Row = std::vector<std::string>;

std::string or_dash(std::string text) { return text.empty() ? "-" : std::move(text); }
std::string number_or_dash(std::int32_t number, std::int32_t none) {
  return number == none ? "-" : std::to_string(number);
}

std::string connected(const DeviceMap& map, const Device& device) {
  std::vector<std::int32_t> ids;
  for (const terms::DeviceId id : linked_with(map, device.id)) ids.push_back(id.value());
  return or_dash(fmt::format("{}", fmt::join(ids, ", ")));
}

std::string backend_of(const Device& device) {
  if (!device.backend.empty()) return fmt::format("{}:{}", device.backend, device.backend_index);
  return device.kind == terms::kCpuKind ? "any" : "-";
}

std::string processors_of(const Device& device) {
  std::vector<std::int32_t> all;
  for (const auto& core : device.cpus) all.insert(all.end(), core.begin(), core.end());
  return or_dash(format_numbers(std::move(all)));
}

std::string caches_of(const Device& device) {
  std::vector<std::string> texts;
  for (const terms::Cache& cache : device.caches) {
    texts.push_back(
        fmt::format("{} {} x {}", cache.name, cache.count, format_bytes(cache.size_bytes)));
  }
  return or_dash(fmt::format("{}", fmt::join(texts, ", ")));
}

Row row_of(const DeviceMap& map, const Device& device, bool is_wide) {
  Row row = {std::to_string(device.id.value()),
             device.kind,
             or_dash(device.name),
             number_or_dash(device.num_cores, 0),
             format_bytes(device.memory_bytes),
             number_or_dash(device.numa_node, -1),
             or_dash(device.bus_address),
             connected(map, device)};
  if (!is_wide) return row;
  row.push_back(backend_of(device));
  row.push_back(processors_of(device));
  row.push_back(caches_of(device));
  row.push_back(or_dash(fmt::format("{}", fmt::join(device.features, ", "))));
  return row;
}

}  // namespace

std::string device_table(const DeviceMap& map, bool is_wide) {
  std::vector<Row> rows = {
      {"DEVICE", "KIND", "NAME", "CORES", "MEMORY", "NUMA", "BUS ADDRESS", "CONNECTED TO"}};
  if (is_wide) {
    rows[0].insert(rows[0].end(), {"BACKEND", "PROCESSORS", "CACHES", "FEATURES"});
  }
  for (const Device& device : map.devices) rows.push_back(row_of(map, device, is_wide));
  std::vector<std::size_t> widths(rows[0].size());
  // Columns are as wide as their widest cell. Spaces at the end of a line are cut off.
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string format_bytes(std::int64_t bytes) {
  if (bytes == 0) return "-";
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < std::size(kUnits)) {
    amount /= 1024;
    ++unit;
  }
  const bool is_whole = amount == static_cast<double>(static_cast<std::int64_t>(amount));
  return fmt::format("{:.{}f} {}", amount, is_whole ? 0 : 1, kUnits[unit]);
}

std::string format_numbers(std::vector<std::int32_t> numbers) {
  std::ranges::sort(numbers);
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (end > i) text += fmt::format("-{}", numbers[end]);
    i = end + 1;
  }
  return text;
}

}  // namespace sluice::tool
