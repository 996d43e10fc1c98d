#include "sluice/devices/link_drawing.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "topology/map/logical_ids.h"

namespace sluice::tool {
namespace {

using terms::Device;
using terms::DeviceId;
using topology::DeviceMap;
using topology::Link;

constexpr std::size_t kMaxPerRow = 16;
constexpr std::string_view kArrow = " --- ";

struct DrawnRow {
  std::string kind;
  std::vector<DeviceId> devices;
};

std::vector<DrawnRow> rows_of(const DeviceMap& map) {
  std::vector<DrawnRow> rows;
  const Device* before = nullptr;
  for (const Device& device : map.devices) {
    const bool goes_on = before != nullptr && are_adjacent(map, *before, device) &&
                         rows.back().devices.size() < kMaxPerRow;
    if (!goes_on) rows.push_back({device.kind, {}});
    rows.back().devices.push_back(device.id);
    before = &device;
  }
  return rows;
}

/// Place of a device in the row.
std::optional<std::size_t> place_in(const DrawnRow& row, DeviceId id) {
  const auto it = std::ranges::find(row.devices, id);
  if (it == row.devices.end()) return std::nullopt;
  return static_cast<std::size_t>(it - row.devices.begin());
}

/// Links of two devices of the row, as their places, the lower first.
std::vector<std::pair<std::size_t, std::size_t>> links_within(const DeviceMap& map,
                                                              const DrawnRow& row) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (const Link& link : map.links) {
    const auto a = place_in(row, link.a);
    const auto b = place_in(row, link.b);
    if (a && b) found.push_back(std::minmax(*a, *b));
  }
  std::ranges::sort(found);
  return found;
}

/// "nvlink, 25.0 GB/s" for links of one sort; "" for several.
std::string sort_of_links(const DeviceMap& map, const DrawnRow& row) {
  std::set<std::string> sorts;
  for (const Link& link : map.links) {
    if (!place_in(row, link.a) || !place_in(row, link.b)) continue;
    const auto bandwidth = static_cast<double>(link.bandwidth_bytes_per_second);
    sorts.insert(bandwidth > 0 ? fmt::format("{}, {:.1f} GB/s", link.kind, bandwidth / 1e9)
                               : link.kind);
  }
  return sorts.size() == 1 ? *sorts.begin() : "";
}

/// Neighbours in a row have an arrow, so a link between them needs no arc. If every pair is linked,
/// a note replaces the arcs.
std::string draw_row(const DeviceMap& map, const DrawnRow& row, std::size_t kind_width) {
  std::string line = fmt::format("{:<{}}  ", row.kind, kind_width);
  std::vector<std::size_t> columns;
  for (const DeviceId id : row.devices) {
    if (!columns.empty()) line += kArrow;
    columns.push_back(line.size());
    line += std::to_string(id.value());
  }
  const auto links = links_within(map, row);
  const std::size_t size = row.devices.size();
  const bool is_full = size > 3 && links.size() == size * (size - 1) / 2;
  std::vector<std::string> notes;
  if (std::string sort = sort_of_links(map, row); !sort.empty()) notes.push_back(std::move(sort));
  if (is_full) notes.emplace_back("each linked with every other");
  line += notes.empty() ? "\n" : fmt::format("  {}\n", fmt::join(notes, "; "));
  for (const auto& [a, b] : links) {
    if (b == a + 1 || is_full) continue;
    line +=
        std::string(columns[a], ' ') + "+" + std::string(columns[b] - columns[a] - 1, '-') + "+\n";
  }
  return line;
}

/// Lists the links that join two rows.
std::string list_links_between(const DeviceMap& map, const std::vector<DrawnRow>& rows) {
  std::map<std::string, std::vector<std::string>> by_kind;
  for (const Link& link : map.links) {
    const bool is_drawn = std::ranges::any_of(
        rows, [&](const DrawnRow& row) { return place_in(row, link.a) && place_in(row, link.b); });
    if (is_drawn) continue;
    by_kind[link.kind.empty() ? "linked" : link.kind].push_back(
        fmt::format("{} - {}", link.a.value(), link.b.value()));
  }
  std::string text;
  for (const auto& [kind, links] : by_kind) {
    text += fmt::format("{}: {}\n", kind, fmt::join(links, ", "));
  }
  return text;
}

}  // namespace

std::string draw_links(const DeviceMap& map) {
  const auto rows = rows_of(map);
  std::size_t kind_width = 0;
  for (const DrawnRow& row : rows) kind_width = std::max(kind_width, row.kind.size());
  std::string text;
  for (const DrawnRow& row : rows) text += draw_row(map, row, kind_width);
  return text + list_links_between(map, rows);
}

}  // namespace sluice::tool
