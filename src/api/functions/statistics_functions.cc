// The functions of sluice/statistics.h.
#include <utility>

#include "api/fields.h"
#include "api/functions/open_runtimes.h"
#include "api/functions/snapshots.h"
#include "sluice/statistics.h"

namespace sluice::api {
namespace {

static_assert(static_cast<int>(terms::HealthState::kHealthy) == SLUICE_HEALTH_HEALTHY);
static_assert(static_cast<int>(terms::HealthState::kFailed) == SLUICE_HEALTH_FAILED);
static_assert(static_cast<int>(terms::SpanKind::kRequest) == SLUICE_SPAN_REQUEST);
static_assert(static_cast<int>(terms::SpanKind::kOperation) == SLUICE_SPAN_OPERATION);

// Each copy holds what its public part points to, so that one release frees both.
struct StatisticsCopy {
  std::vector<sluice_runtime_code_count> answered;
  sluice_model_statistics public_part = {};
};

struct HealthCopy {
  terms::Health health;
  sluice_health public_part = {};
};

struct ProfileCopy {
  terms::Profile profile;
  std::vector<sluice_span> spans;
  std::vector<const sluice_span*> pointers;
  sluice_profile public_part = {};
};

/// Histograms stay inside: the C interface has quantiles alone.
sluice_latency latency_of(const terms::Latency& latency) {
  sluice_latency copy = {};
  copy_fields(latency, copy);
  return copy;
}

std::shared_ptr<StatisticsCopy> copy_of(std::uint64_t model,
                                        const terms::ModelStatistics& statistics) {
  auto copy = std::make_shared<StatisticsCopy>();
  for (const auto& [code, count] : statistics.answered) {
    copy->answered.push_back({static_cast<std::int32_t>(code), count});
  }
  sluice_model_statistics& part = copy->public_part;
  part.model = model;
  copy_fields(statistics, part);
  part.num_answered = copy->answered.size();
  part.answered = copy->answered.data();
  part.queue = latency_of(statistics.queue);
  part.copy = latency_of(statistics.copy);
  part.compute = latency_of(statistics.compute);
  part.total = latency_of(statistics.total);
  return copy;
}

std::shared_ptr<HealthCopy> copy_of(terms::Health health) {
  auto copy = std::make_shared<HealthCopy>();
  copy->health = std::move(health);
  copy->public_part = {static_cast<std::int32_t>(copy->health.state), copy->health.reason.c_str(),
                       copy->health.action.c_str()};
  return copy;
}

sluice_span span_of(const terms::ProfileSpan& span, const terms::Profile& profile) {
  sluice_span copy = {};
  copy.kind = static_cast<std::int32_t>(span.kind);
  copy.runtime_code = static_cast<sluice_runtime_code>(span.code);
  copy.model = profile.models[span.model].name.c_str();
  // Spans of other kinds have no name, and `span.name` says nothing about them.
  const bool has_name = span.kind == terms::SpanKind::kOperation;
  copy.name = has_name ? profile.names[span.name].c_str() : "";
  copy.request = span.request;
  copy.lane = span.lane;
  copy.start_ns = span.start_ns;
  copy.duration_ns = span.duration_ns;
  return copy;
}

std::shared_ptr<ProfileCopy> copy_of(terms::Profile profile) {
  auto copy = std::make_shared<ProfileCopy>();
  copy->profile = std::move(profile);
  for (const terms::ProfileSpan& span : copy->profile.spans) {
    copy->spans.push_back(span_of(span, copy->profile));
  }
  // After the loop above: a growing vector would move the spans.
  for (const sluice_span& span : copy->spans) copy->pointers.push_back(&span);
  copy->public_part = {copy->pointers.size(), copy->pointers.data(), copy->profile.num_dropped,
                       copy->profile.start_ns, copy->profile.duration_ns};
  return copy;
}

Result<terms::ProfileSettings> profile_settings(const sluice_profile_options& options) {
  terms::ProfileSettings settings;
  if (options.limit_ns < 0 || options.max_spans < 0) {
    return invalid_argument("limit_ns {} and max_spans {} must not be negative", options.limit_ns,
                            options.max_spans);
  }
  // Ids have 32 bits inside; a larger handle can name no group.
  if (options.group > INT32_MAX) {
    return terms::runtime_error(RuntimeCode::kInvalidHandle, "no core group has handle {}",
                                options.group);
  }
  if (options.group != 0) settings.group.emplace(static_cast<std::int32_t>(options.group));
  if (options.model != 0) settings.model.emplace(terms::ModelHandle{options.model});
  if (options.limit_ns > 0) settings.limit_ns = options.limit_ns;
  if (options.max_spans > 0) settings.max_spans = options.max_spans;
  return settings;
}

}  // namespace
}  // namespace sluice::api

using sluice::ok_status;
using sluice::Status;
using sluice::api::Call;
using sluice::api::with_result;
using sluice::api::with_result_blocking;

int32_t sluice_runtime_statistics(sluice_runtime* runtime, uint64_t model,
                                  const sluice_model_statistics** statistics) {
  return with_result(runtime, statistics, [&](Call& call) -> Status {
    const auto found = SLUICE_TRY(call->statistics(model));
    sluice::api::give_snapshot(sluice::api::copy_of(model, found), statistics);
    return ok_status();
  });
}

int32_t sluice_runtime_health(sluice_runtime* runtime, uint64_t model,
                              const sluice_health** health) {
  return with_result(runtime, health, [&](Call& call) -> Status {
    sluice::api::give_snapshot(sluice::api::copy_of(SLUICE_TRY(call->health(model))), health);
    return ok_status();
  });
}

int32_t sluice_runtime_start_profile(sluice_runtime* runtime, const sluice_profile_options* options,
                                     uint64_t* profile) {
  return with_result(runtime, profile, [&](Call& call) -> Status {
    const auto settings =
        SLUICE_TRY(sluice::api::profile_settings(sluice::api::read_options(options)));
    *profile = SLUICE_TRY(call->start_profile(settings));
    return ok_status();
  });
}

int32_t sluice_runtime_stop_profile(sluice_runtime* runtime, uint64_t id,
                                    const sluice_profile** profile) {
  return with_result_blocking(runtime, profile, [&](Call& call) -> Status {
    sluice::api::give_snapshot(sluice::api::copy_of(SLUICE_TRY(call->stop_profile(id))), profile);
    return ok_status();
  });
}
