#include "sluice/remote/watch/top_frame.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sluice/devices/device_table.h"
#include "sluice/remote/remote.h"
#include "sluice/remote/watch/top_table.h"
#include "sluice/remote/watch/troubles.h"

namespace sluice::tool {
namespace {

using activity::Activity;
using activity::Snapshot;
using Style = FrameLine::Style;

constexpr std::size_t kMaxCoresDrawn = 32;

/// A title, a line per row, and how many rows there are.
struct Section {
  std::vector<TopColumn> columns;
  std::vector<TopRow> rows;
};

double value_or_zero(const std::map<std::uint64_t, double>& map, std::uint64_t key) {
  const auto it = map.find(key);
  return it == map.end() ? 0 : it->second;
}

std::string session_text(terms::SessionId session) {
  return session == terms::kNobody ? "-" : std::to_string(static_cast<std::uint64_t>(session));
}

std::string bar(double share) {
  constexpr std::array kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto index = static_cast<std::size_t>(std::lround(share * (kBars.size() - 1)));
  return kBars[std::min(index, kBars.size() - 1)];
}

/// A bar per core: how busy its group is; "·" for a core of no group. Neighbours share a bar where
/// there are many.
std::string core_bars(const terms::Device& device, const Snapshot& now, const Activity& activity) {
  const auto num_cores = static_cast<std::size_t>(std::max(device.num_cores, 0));
  std::vector<double> shares(num_cores, -1);
  for (const terms::GroupEntry& group : now.groups) {
    const double share = value_or_zero(activity.group_utilisation,
                                       static_cast<std::uint64_t>(group.info.id.value()));
    for (const terms::CoreRef& core : group.info.cores) {
      const auto number = static_cast<std::size_t>(core.core);
      if (core.device == device.id && number < num_cores) shares[number] = share;
    }
  }
  // Rounded up, so that no core is left without a bar.
  const std::size_t per_bar = num_cores / kMaxCoresDrawn + (num_cores % kMaxCoresDrawn != 0);
  std::string text;
  for (std::size_t i = 0; i < num_cores; i += per_bar) {
    const auto end = std::min(i + per_bar, num_cores);
    // The busiest of the cores that share a bar.
    const double most = *std::max_element(shares.begin() + static_cast<std::ptrdiff_t>(i),
                                          shares.begin() + static_cast<std::ptrdiff_t>(end));
    text += most < 0 ? "·" : bar(most);
  }
  return text;
}

/// Streams in use, of all; "-" for a device without pools.
std::string streams_text(const terms::Usage& usage) {
  if (!usage.pools) return "-";
  const terms::DevicePools& pools = *usage.pools;
  return fmt::format("{} of {}", pools.streams_in_use,
                     pools.streams_in_use + pools.streams_unused + pools.streams_draining);
}

/// Memory that the pool has, and how much of it is idle.
std::string pool_text(const terms::Usage& usage) {
  if (!usage.pools) return "-";
  const std::string all = format_bytes(usage.pools->reserved_bytes);
  if (usage.pools->idle_bytes == 0) return all;
  return fmt::format("{}, {} idle", all, format_bytes(usage.pools->idle_bytes));
}

Section device_section(const Snapshot& now, const Activity& activity) {
  Section section = {{{"DEVICE", 9, true},
                      {"KIND", 3},
                      {"BUS ADDRESS", 1},
                      {"CORES", 8},
                      {"RESERVED", 2},
                      {"BUSY", 7, true},
                      {"MEMORY", 5, true},
                      {"OF", 4, true},
                      {"STREAMS", 0},
                      {"POOL", 0},
                      {"SENSORS", 0},
                      {"HEALTH", 6}},
                     {}};
  for (const terms::Device& device : now.server.devices) {
    const auto id = static_cast<std::uint64_t>(device.id.value());
    const auto it = std::ranges::find(now.statistics.devices, id, &terms::Usage::id);
    const terms::Usage usage = it == now.statistics.devices.end() ? terms::Usage() : *it;
    std::int64_t used_bytes = 0;
    for (const auto& item : usage.memory) used_bytes += item.bytes;
    section.rows.push_back(
        {{std::to_string(id), device.kind, device.bus_address.empty() ? "-" : device.bus_address,
          core_bars(device, now, activity),
          fmt::format("{} of {}", usage.num_reserved_cores, device.num_cores),
          describe_share(value_or_zero(activity.device_utilisation, id)), format_bytes(used_bytes),
          format_bytes(device.memory_bytes), streams_text(usage), pool_text(usage),
          describe_sensors(usage.sensors), std::string(terms::health_name(usage.health.state))},
         usage.health.state != terms::HealthState::kHealthy});
  }
  return section;
}

Section group_section(const Snapshot& now, const Activity& activity) {
  Section section = {{{"GROUP", 9, true},
                      {"CORES", 5},
                      {"BUSY", 8, true},
                      {"ACTIVE MODEL", 7},
                      {"MODELS", 4, true},
                      {"SWITCHES", 1, true},
                      {"MEMORY", 3, true},
                      {"WORKER", 6},
                      {"SESSION", 2, true}},
                     {}};
  for (const terms::GroupEntry& group : now.groups) {
    const auto id = static_cast<std::uint64_t>(group.info.id.value());
    section.rows.push_back(
        {{std::to_string(id), describe_cores(group.info.cores),
          describe_share(value_or_zero(activity.group_utilisation, id)),
          group.info.active_model.empty() ? "-" : group.info.active_model,
          std::to_string(group.info.num_models), describe_count(group.info.num_switches),
          format_bytes(group.info.memory_used_bytes), describe_worker(group.info.worker),
          session_text(group.session)},
         false});
  }
  return section;
}

/// Formats a duration of an interval, "-" if the interval has no measurement.
std::string duration_text(std::int64_t duration_ns) {
  return duration_ns == 0 ? "-" : describe_duration(duration_ns);
}

/// What matters most: its health, else the function's phase, else its own.
std::string state_of(const terms::ModelEntry& model, const Snapshot& now) {
  const auto it =
      std::ranges::find(now.health.models, model.info.handle, &terms::ModelHealth::model);
  const bool is_ill =
      it != now.health.models.end() && it->health.state != terms::HealthState::kHealthy;
  if (is_ill) return std::string(terms::health_name(it->health.state));
  return std::string(model.function ? terms::phase_name(model.function->phase)
                                    : terms::phase_name(model.info.phase));
}

/// A function holds what it holds now; another model what its load reserved.
std::int64_t memory_of(const terms::ModelEntry& model) {
  return model.function ? model.function->held_bytes : model.info.footprint.total_bytes();
}

/// A cold function is in no group.
std::string group_text(terms::CoreGroupId group) {
  return group.value() > 0 ? std::to_string(group.value()) : "-";
}

Section model_section(const Snapshot& now, const Activity& activity) {
  Section section = {{{"MODEL", 9},
                      {"STATE", 4},
                      {"GROUP", 2, true},
                      {"REQUESTS/S", 8, true},
                      {"ERRORS/S", 7, true},
                      {"P50", 6, true},
                      {"P99", 5, true},
                      {"WAITING", 3, true},
                      {"QUEUE P99", 1, true},
                      {"MEMORY", 1, true},
                      {"SESSION", 1, true},
                      {"HANDLE", 3}},
                     {}};
  for (const terms::ModelEntry& model : now.models) {
    const auto rate = activity.models.find(model.info.handle);
    const Activity::Rate per_second =
        rate == activity.models.end() ? Activity::Rate() : rate->second;
    const auto it =
        std::ranges::find(now.statistics.models, model.info.handle, &terms::ModelStatistics::model);
    const terms::ModelStatistics statistics =
        it == now.statistics.models.end() ? terms::ModelStatistics() : *it;
    section.rows.push_back(
        {{model.info.name, state_of(model, now), group_text(model.info.group),
          three_digits(per_second.requests_per_s), three_digits(per_second.errors_per_s),
          duration_text(per_second.p50_ns), duration_text(per_second.p99_ns),
          describe_count(statistics.waiting), duration_text(statistics.queue.p99_ns),
          format_bytes(memory_of(model)), session_text(model.session),
          fmt::format("{:#x}", model.info.handle)},
         model.info.phase == terms::ModelPhase::kFailed || per_second.errors_per_s > 0});
  }
  return section;
}

Section session_section(const Snapshot& now) {
  Section section = {{{"SESSION", 9, true},
                      {"CLIENT", 8},
                      {"PROCESS", 7, true},
                      {"USER", 3, true},
                      {"AGE", 4, true},
                      {"MODELS", 5, true},
                      {"CORES", 5, true},
                      {"IN FLIGHT", 6, true}},
                     {}};
  const auto number = [](std::int64_t value) {
    return value < 0 ? std::string("-") : std::to_string(value);
  };
  for (const terms::SessionInfo& session : now.sessions) {
    section.rows.push_back(
        {{session_text(session.id), session.client.empty() ? "-" : session.client,
          number(session.peer.process), number(session.peer.user), describe_age(session.age_ns),
          std::to_string(session.num_models), std::to_string(session.num_cores),
          std::to_string(session.num_in_flight)},
         false});
  }
  return section;
}

Section trouble_section(const Snapshot& now) {
  Section section = {{{"ERROR", 9}, {"WHAT TO DO", 5}}, {}};
  for (const Trouble& trouble : troubles_of(now)) {
    section.rows.push_back({{trouble.what, trouble.action}, trouble.is_bad});
  }
  return section;
}

FrameLine headline(const std::string& address, const Snapshot& now, const Activity& activity,
                   std::size_t width) {
  const terms::ServerInfo& server = now.server;
  std::string text = fmt::format("sluiced {}  {}  {} of {} cores free  {} requests/s",
                                 server.version, server.state, server.num_free_cores,
                                 server.num_cores, three_digits(activity.all.requests_per_s));
  const std::string more = fmt::format("  up {}  {}", describe_age(server.uptime_ns), address);
  if (width_of(text) + width_of(more) <= width) text += more;
  const bool is_bad = !now.health.is_ready || activity.all.errors_per_s > 0;
  return {is_bad ? Style::kBad : Style::kPlain, cut_to(printable(text), width)};
}

/// Divides `height` lines among the sections; the longest sections lose rows first.
std::vector<std::size_t> share_rows(const std::vector<Section>& sections, std::size_t height) {
  std::vector<std::size_t> shown;
  // A section that lost rows has one more line, "... more", so the sum is counted anew after each
  // row.
  for (const Section& section : sections) shown.push_back(section.rows.size());
  const auto lines = [&] {
    std::size_t sum = 1;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const bool is_cut = shown[i] < sections[i].rows.size();
      sum += sections[i].rows.empty() ? 0 : 2 + shown[i] + (is_cut ? 1 : 0);
    }
    return sum;
  };
  while (lines() > height) {
    const auto longest = std::ranges::max_element(shown);
    if (*longest == 0) break;
    --*longest;
  }
  return shown;
}

}  // namespace

std::vector<FrameLine> draw_frame(const std::string& address, const Snapshot& now,
                                  const Activity& activity, std::size_t width, std::size_t height) {
  const std::vector<Section> sections = {device_section(now, activity),
                                         group_section(now, activity), model_section(now, activity),
                                         session_section(now), trouble_section(now)};
  const std::vector<std::size_t> shown = share_rows(sections, height);
  std::vector<FrameLine> frame = {headline(address, now, activity, width)};
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const std::vector<TopRow>& rows = sections[i].rows;
    if (rows.empty()) continue;
    const std::vector<std::string> lines = draw_table(sections[i].columns, rows, width);
    frame.push_back({});
    frame.push_back({Style::kTitle, lines[0]});
    for (std::size_t row = 0; row < shown[i]; ++row) {
      frame.push_back({rows[row].is_bad ? Style::kBad : Style::kPlain, lines[row + 1]});
    }
    if (shown[i] < rows.size()) {
      frame.push_back({Style::kPlain, fmt::format("… {} more", rows.size() - shown[i])});
    }
  }
  if (frame.size() > height) frame.resize(height);
  return frame;
}

}  // namespace sluice::tool
