#include "worker/protocol/profile_pages.h"

#include <algorithm>
#include <utility>

#include "base/json/json_reader.h"
#include "terms/runtime_code.h"

namespace sluice::worker {
namespace {

using nlohmann::json;
using terms::ProfiledModel;
using terms::ProfileSpan;
using terms::SpanKind;
using terms::StageKind;

// A page stays below kMaxMessageBytes, 64 KiB: a name has at most 160 bytes, six times as many
// characters where each is escaped; a span is an array of eight numbers, below 110 characters.
constexpr std::size_t kNamesOfPage = 32;
constexpr std::size_t kSpansOfPage = 400;
// More than the profiler keeps.
constexpr std::size_t kMaxModels = 1 << 12;
constexpr std::size_t kMaxNames = 1 << 15;
constexpr std::size_t kMaxLanes = 1 << 10;
constexpr std::size_t kMaxCores = 1 << 12;
constexpr std::int64_t kMaxNs = std::int64_t{1} << 62;
constexpr std::int64_t kMaxIndex = std::int64_t{1} << 31;

constexpr auto kLastKind = static_cast<std::int64_t>(SpanKind::kOperation);
constexpr auto kLastStage = static_cast<std::int64_t>(StageKind::kCopyOut);

json model_json(const ProfiledModel& model) {
  json lanes = json::array();
  for (const ProfiledModel::Lane& lane : model.lanes) {
    json cores = json::array();
    for (const terms::CoreRef& core : lane.cores) {
      cores.push_back({core.device.value(), core.core});
    }
    lanes.push_back({{"kind", static_cast<int>(lane.kind)}, {"cores", std::move(cores)}});
  }
  return {{"name", model.name}, {"lanes", std::move(lanes)}};
}

json span_json(const ProfileSpan& span) {
  return {static_cast<int>(span.kind),
          span.model,
          span.lane,
          span.name,
          span.request,
          span.start_ns,
          span.duration_ns,
          static_cast<std::int32_t>(span.code)};
}

Result<ProfiledModel> model_of(const JsonValue& value) {
  // Every number is bounded: a worker is not trusted, and its profile goes on to clients.
  ProfiledModel model;
  model.name = SLUICE_TRY(value.text_or("name", ""));
  for (const JsonValue& lane : SLUICE_TRY(value.items_or_none("lanes", kMaxLanes))) {
    ProfiledModel::Lane& read = model.lanes.emplace_back();
    read.kind = static_cast<StageKind>(SLUICE_TRY(lane.int_or("kind", 0, 0, kLastStage)));
    for (const JsonValue& core : SLUICE_TRY(lane.items_or_none("cores", kMaxCores))) {
      const auto pair = SLUICE_TRY(core.as_items(2));
      if (pair.size() != 2) return invalid_argument("{}: not a device and a core", core.path());
      const std::int64_t device = SLUICE_TRY(pair[0].as_int(0, kMaxIndex - 1));
      const std::int64_t number = SLUICE_TRY(pair[1].as_int(0, kMaxIndex - 1));
      read.cores.push_back(
          {terms::DeviceId(static_cast<std::int32_t>(device)), static_cast<std::int32_t>(number)});
    }
  }
  return model;
}

Result<ProfileSpan> span_of(const JsonValue& value, const terms::Profile& profile) {
  const auto fields = SLUICE_TRY(value.as_items(8));
  if (fields.size() != 8) return invalid_argument("{}: not eight numbers", value.path());
  const auto number = [&](std::size_t i, std::int64_t most) { return fields[i].as_int(0, most); };
  ProfileSpan span;
  span.kind = static_cast<SpanKind>(SLUICE_TRY(number(0, kLastKind)));
  // Spans refer to models and names by index, so those pages come first.
  const auto last_model = static_cast<std::int64_t>(profile.models.size()) - 1;
  span.model = static_cast<std::uint32_t>(SLUICE_TRY(number(1, last_model)));
  const auto num_lanes = static_cast<std::int64_t>(profile.models[span.model].lanes.size());
  span.lane =
      static_cast<std::uint32_t>(SLUICE_TRY(number(2, std::max(num_lanes - 1, std::int64_t{0}))));
  const bool is_named = span.kind == SpanKind::kOperation;
  const auto num_names = static_cast<std::int64_t>(profile.names.size());
  span.name = static_cast<std::uint32_t>(SLUICE_TRY(number(3, is_named ? num_names - 1 : 0)));
  span.request = static_cast<std::uint64_t>(SLUICE_TRY(number(4, kMaxNs)));
  span.start_ns = SLUICE_TRY(number(5, kMaxNs));
  span.duration_ns = SLUICE_TRY(number(6, kMaxNs));
  const auto code = static_cast<RuntimeCode>(SLUICE_TRY(number(7, kMaxIndex - 1)));
  span.code = terms::describe(code).code;  // an unknown one becomes kFailed
  return span;
}

}  // namespace

json ProfilePages::next() {
  json page = {{"models", json::array()}, {"names", json::array()}, {"spans", json::array()}};
  if (!std::exchange(has_begun_, true)) {
    page["start_ns"] = cursor_.profile().start_ns;
    page["duration_ns"] = cursor_.profile().duration_ns;
    page["num_dropped"] = cursor_.profile().num_dropped;
  }
  // One list per page, so that the bounds of the three need no sum.
  for (const ProfiledModel& model : cursor_.models(1)) page["models"].push_back(model_json(model));
  if (page["models"].empty()) {
    for (const std::string& name : cursor_.names(kNamesOfPage)) page["names"].push_back(name);
  }
  if (page["models"].empty() && page["names"].empty()) {
    for (const ProfileSpan& span : cursor_.spans(kSpansOfPage)) {
      page["spans"].push_back(span_json(span));
    }
  }
  page["is_last"] = is_done();
  return page;
}

Result<bool> ProfileReader::add(const json& page) {
  const JsonValue value(page, "");
  const auto models = SLUICE_TRY(value.items_or_none("models", kMaxModels));
  const auto names = SLUICE_TRY(value.items_or_none("names", kMaxNames));
  const auto spans = SLUICE_TRY(value.items_or_none("spans", kSpansOfPage));
  // Bounds the sum of all pages; a worker could otherwise send pages without end.
  if (profile_.models.size() + models.size() > kMaxModels ||
      profile_.names.size() + names.size() > kMaxNames ||
      profile_.spans.size() + spans.size() > static_cast<std::size_t>(max_spans_)) {
    return invalid_argument("a worker's profile is longer than was asked for");
  }
  profile_.start_ns = SLUICE_TRY(value.int_or("start_ns", profile_.start_ns, 0, kMaxNs));
  profile_.duration_ns = SLUICE_TRY(value.int_or("duration_ns", profile_.duration_ns, 0, kMaxNs));
  profile_.num_dropped = SLUICE_TRY(value.int_or("num_dropped", profile_.num_dropped, 0, kMaxNs));
  for (const JsonValue& model : models) profile_.models.push_back(SLUICE_TRY(model_of(model)));
  for (const JsonValue& name : names) profile_.names.push_back(SLUICE_TRY(name.as_text()));
  for (const JsonValue& span : spans) {
    profile_.spans.push_back(SLUICE_TRY(span_of(span, profile_)));
  }
  const bool is_last = SLUICE_TRY(SLUICE_TRY(value.field("is_last")).as_bool());
  // An empty page makes no progress, and the reader asks until the last one.
  if (!is_last && models.empty() && names.empty() && spans.empty()) {
    return invalid_argument("a page of a worker's profile is empty");
  }
  return is_last;
}

}  // namespace sluice::worker
