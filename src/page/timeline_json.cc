#include "page/timeline_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace sluice::page {
namespace {

using nlohmann::ordered_json;
using terms::ProfileSpan;
using terms::SpanKind;
using terms::StageKind;

/// A queue's track comes before those of the lanes.
constexpr std::int64_t kQueue = -1;

struct Sum {
  std::int64_t count = 0;
  std::int64_t sum_ns = 0;
  std::int64_t busy_ns = 0;  ///< of it, after the beginning of the period

  void add(const ProfileSpan& span, std::int64_t begin_ns) {
    ++count;
    sum_ns += span.duration_ns;
    const std::int64_t after_ns = span.start_ns + span.duration_ns - begin_ns;
    busy_ns += std::clamp<std::int64_t>(after_ns, 0, span.duration_ns);
  }
};

/// From when on the profile has every span: they are in the order of their ends.
std::int64_t begin_of(const terms::Profile& profile) {
  if (profile.num_dropped == 0 || profile.spans.empty()) return profile.start_ns;
  const ProfileSpan& oldest = profile.spans.front();
  return std::max(profile.start_ns, oldest.start_ns + oldest.duration_ns);
}

/// By model and lane.
using Tracks = std::map<std::pair<std::uint32_t, std::int64_t>, Sum>;

std::pair<std::uint32_t, std::int64_t> track_of(const ProfileSpan& span) {
  return {span.model, span.kind == SpanKind::kQueue ? kQueue : std::int64_t{span.lane}};
}

/// "copy in", "segment 2".
std::string name_of(const terms::ProfiledModel& model, std::int64_t lane) {
  if (lane == kQueue) return "queue";
  const auto at = static_cast<std::size_t>(lane);
  switch (model.lanes[at].kind) {
    case StageKind::kCopyIn: return "copy in";
    case StageKind::kCopyOut: return "copy out";
    case StageKind::kCompute: break;
  }
  const auto before = std::span(model.lanes).first(at);
  const auto number =
      std::ranges::count(before, StageKind::kCompute, &terms::ProfiledModel::Lane::kind);
  return "segment " + std::to_string(number + 1);
}

ordered_json tracks_json(const terms::Profile& profile, const Tracks& tracks) {
  ordered_json all = ordered_json::array();
  for (const auto& [key, sum] : tracks) {
    const terms::ProfiledModel& model = profile.models[key.first];
    ordered_json cores = ordered_json::array();
    if (key.second != kQueue) {
      for (const terms::CoreRef& core : model.lanes[static_cast<std::size_t>(key.second)].cores) {
        cores.push_back({{"device", core.device.value()}, {"core", core.core}});
      }
    }
    all.push_back({{"group", model.group},
                   {"model", model.name},
                   {"what", name_of(model, key.second)},
                   {"cores", std::move(cores)},
                   {"count", sum.count},
                   {"sum_ns", sum.sum_ns},
                   {"busy_ns", sum.busy_ns}});
  }
  return all;
}

/// Waiting begins long before what is shown: its spans are cut there.
ordered_json spans_json(std::vector<ProfileSpan> spans, const Tracks& tracks) {
  std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> number_of;
  for (const auto& [key, sum] : tracks) number_of.emplace(key, number_of.size());
  std::ranges::sort(spans, {}, &ProfileSpan::start_ns);
  std::int64_t first_ns = spans.empty() ? 0 : spans.back().start_ns;
  for (const ProfileSpan& span : spans) {
    if (span.kind != SpanKind::kQueue) first_ns = std::min(first_ns, span.start_ns);
  }
  ordered_json all = ordered_json::array();
  for (const ProfileSpan& span : spans) {
    const std::int64_t start_ns = std::max(span.start_ns, first_ns);
    const std::int64_t end_ns = std::max(span.start_ns + span.duration_ns, start_ns);
    const bool is_operation = span.kind == SpanKind::kOperation;
    all.push_back({number_of.at(track_of(span)), is_operation ? 1 : 0, start_ns - first_ns,
                   end_ns - start_ns, span.request,
                   is_operation ? std::int64_t{span.name} : std::int64_t{-1}});
  }
  return all;
}

ordered_json operations_json(const terms::Profile& profile) {
  std::map<std::uint32_t, Sum> times;  // by index of the name
  for (const ProfileSpan& span : profile.spans) {
    if (span.kind == SpanKind::kOperation) times[span.name].add(span, profile.start_ns);
  }
  std::vector<std::pair<std::uint32_t, Sum>> sorted(times.begin(), times.end());
  std::ranges::stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second.sum_ns > b.second.sum_ns; });
  ordered_json operations = ordered_json::array();
  for (const auto& [name, time] : sorted) {
    operations.push_back(
        {{"name", profile.names[name]}, {"count", time.count}, {"sum_ns", time.sum_ns}});
  }
  return operations;
}

}  // namespace

std::string profile_json(const terms::Profile& profile) {
  std::int64_t num_requests = 0;
  std::size_t num_spans = 0;
  const std::int64_t begin_ns = begin_of(profile);
  Tracks tracks;
  for (const ProfileSpan& span : profile.spans) {
    if (span.kind == SpanKind::kRequest) {
      ++num_requests;
      continue;
    }
    ++num_spans;
    if (span.kind != SpanKind::kOperation) tracks[track_of(span)].add(span, begin_ns);
  }
  // Spans stand in the order of their ends: the last are the newest.
  std::vector<ProfileSpan> shown;
  for (auto it = profile.spans.rbegin();
       it != profile.spans.rend() && shown.size() < kMaxShownSpans; ++it) {
    if (it->kind != SpanKind::kRequest && tracks.contains(track_of(*it))) shown.push_back(*it);
  }
  const ordered_json all = {{"num_requests", num_requests},
                            {"operations", operations_json(profile)},
                            {"timeline",
                             {{"duration_ns", profile.start_ns + profile.duration_ns - begin_ns},
                              {"num_spans", num_spans},
                              {"num_dropped", profile.num_dropped},
                              {"tracks", tracks_json(profile, tracks)},
                              {"names", profile.names},
                              {"spans", spans_json(std::move(shown), tracks)}}}};
  // Names of a file need not be UTF-8.
  return all.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace sluice::page
