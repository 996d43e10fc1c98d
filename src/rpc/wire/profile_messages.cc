#include "rpc/wire/profile_messages.h"

#include <algorithm>
#include <array>
#include <utility>

#include "rpc/wire/convert.h"

namespace sluice::rpc::wire {
namespace {

using terms::ProfiledModel;
using terms::ProfileSpan;
using terms::SpanKind;
using terms::StageKind;
using Part = v1::StopProfileResponse;

// Limits of one part: names are at most 160 bytes, spans some 30.
constexpr std::size_t kModelsOfPart = 64;
constexpr std::size_t kNamesOfPart = 1024;
constexpr std::size_t kSpansOfPart = 8192;

// The numbers of the protocol are its own: the enumerators within may change.
constexpr std::array kKinds = {
    std::pair{SpanKind::kRequest, Part::REQUEST},  std::pair{SpanKind::kQueue, Part::QUEUE},
    std::pair{SpanKind::kCopyIn, Part::COPY_IN},   std::pair{SpanKind::kCompute, Part::COMPUTE},
    std::pair{SpanKind::kCopyOut, Part::COPY_OUT}, std::pair{SpanKind::kOperation, Part::OPERATION},
};

StageKind stage_kind(Part::Kind kind) {
  if (kind == Part::COPY_IN) return StageKind::kCopyIn;
  return kind == Part::COPY_OUT ? StageKind::kCopyOut : StageKind::kCompute;
}

Part::Kind to_proto(SpanKind kind) {
  // Every kind stands in the table, so the search always ends at one.
  return std::ranges::find(kKinds, kind, &decltype(kKinds)::value_type::first)->second;
}

Result<SpanKind> from_proto(Part::Kind kind) {
  const auto* it = std::ranges::find(kKinds, kind, &decltype(kKinds)::value_type::second);
  if (it != kKinds.end()) return it->first;
  return make_error(Code::kDataLoss, "a span of kind {}, which this client does not know",
                    static_cast<int>(kind));
}

void to_proto(const ProfiledModel& from, Part::Model& to) {
  to.set_name(from.name);
  to.set_group(from.group);
  for (const ProfiledModel::Lane& lane : from.lanes) {
    Part::Lane& told = *to.add_lanes();
    told.set_kind(to_proto(span_kind(lane.kind)));
    for (const terms::CoreRef& core : lane.cores) {
      told.add_devices(core.device.value());
      told.add_cores(core.core);
    }
  }
}

ProfiledModel from_proto(const Part::Model& from) {
  ProfiledModel to;
  to.name = from.name();
  to.group = from.group();
  for (const Part::Lane& lane : from.lanes()) {
    ProfiledModel::Lane& read = to.lanes.emplace_back();
    read.kind = stage_kind(lane.kind());
    // Two lists that belong together; a daemon with a fault may send different lengths.
    for (int i = 0; i < std::min(lane.devices_size(), lane.cores_size()); ++i) {
      read.cores.push_back({terms::DeviceId(lane.devices(i)), lane.cores(i)});
    }
  }
  return to;
}

void to_proto(const ProfileSpan& from, Part::Span& to) {
  to.set_kind(to_proto(from.kind));
  to.set_model(from.model);
  to.set_lane(from.lane);
  to.set_name(from.name);
  to.set_request(from.request);
  to.set_start_ns(from.start_ns);
  to.set_duration_ns(from.duration_ns);
  to.set_runtime_code(static_cast<std::int32_t>(from.code));
}

}  // namespace

Result<terms::ProfileSettings> from_proto(const v1::StartProfileRequest& from) {
  terms::ProfileSettings settings;
  if (from.group() != 0) settings.group = SLUICE_TRY(group_from_proto(from.group()));
  if (from.model() != 0) settings.model = terms::ModelHandle(from.model());
  // 0 leaves the default of the settings.
  if (from.limit_ns() != 0) settings.limit_ns = from.limit_ns();
  if (from.max_spans() != 0) settings.max_spans = from.max_spans();
  return settings;
}

void to_proto(const terms::ProfileSettings& from, v1::StartProfileRequest& to) {
  if (from.group) to.set_group(static_cast<std::uint64_t>(from.group->value()));
  if (from.model) to.set_model(static_cast<std::uint64_t>(*from.model));
  to.set_limit_ns(from.limit_ns);
  to.set_max_spans(from.max_spans);
}

bool ProfileParts::next(v1::StopProfileResponse& part) {
  const bool is_first = !std::exchange(has_begun_, true);
  if (is_first) {
    part.set_dropped(cursor_.profile().num_dropped);
    part.set_start_ns(cursor_.profile().start_ns);
    part.set_duration_ns(cursor_.profile().duration_ns);
  }
  for (const ProfiledModel& model : cursor_.models(kModelsOfPart)) {
    to_proto(model, *part.add_models());
  }
  for (const std::string& name : cursor_.names(kNamesOfPart)) part.add_names(name);
  for (const ProfileSpan& span : cursor_.spans(kSpansOfPart)) to_proto(span, *part.add_spans());
  // The first part is sent even if it is empty: it says when the profile began.
  return is_first || part.models_size() > 0 || part.names_size() > 0 || part.spans_size() > 0;
}

Status add_part(const v1::StopProfileResponse& part, terms::Profile& profile) {
  for (const Part::Model& model : part.models()) profile.models.push_back(from_proto(model));
  for (const std::string& name : part.names()) profile.names.push_back(name);
  for (const Part::Span& from : part.spans()) {
    const SpanKind kind = SLUICE_TRY(from_proto(from.kind()));
    profile.spans.push_back({kind, from.model(), from.lane(), from.name(), from.request(),
                             from.start_ns(), from.duration_ns(),
                             static_cast<RuntimeCode>(from.runtime_code())});
  }
  // The first part has these numbers; later parts leave them at 0.
  if (part.dropped() != 0) profile.num_dropped = part.dropped();
  if (part.start_ns() != 0) profile.start_ns = part.start_ns();
  if (part.duration_ns() != 0) profile.duration_ns = part.duration_ns();
  return ok_status();
}

Status check_profile(const terms::Profile& profile) {
  for (const ProfileSpan& span : profile.spans) {
    const bool is_named = span.kind == SpanKind::kOperation;
    const bool is_on_lane = span.kind != SpanKind::kRequest && span.kind != SpanKind::kQueue;
    const bool is_good = span.model < profile.models.size() &&
                         (!is_on_lane || span.lane < profile.models[span.model].lanes.size()) &&
                         (!is_named || span.name < profile.names.size());
    if (!is_good) return make_error(Code::kDataLoss, "a span of a model that did not come");
  }
  return ok_status();
}

}  // namespace sluice::rpc::wire
