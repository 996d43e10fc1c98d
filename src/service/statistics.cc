// The part of Service that tells what models, groups and devices did.
#include <algorithm>

#include "base/clock.h"
#include "base/log/wall_time.h"
#include "base/system/huge_pages.h"
#include "runtime/engine.h"
#include "service/clients/refusals.h"
#include "service/service.h"

namespace sluice::service {

using terms::ModelHandle;

namespace {

std::vector<terms::Latency::Bucket> buckets_of(const runtime::HistogramSnapshot& histogram) {
  std::vector<terms::Latency::Bucket> buckets;
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    const std::int64_t count = histogram.counts()[i];
    if (count > 0) buckets.push_back({runtime::HistogramBuckets::lower_bound_ns(i), count});
  }
  return buckets;
}

terms::ModelStatistics statistics_of(const terms::ModelInfo& info,
                                     const runtime::ModelStatisticsSnapshot& snapshot) {
  terms::ModelStatistics all = runtime::summary_of(snapshot);
  all.model = info.handle;
  all.name = info.name;
  all.total.buckets = buckets_of(snapshot.total);
  all.compute.buckets = buckets_of(snapshot.compute);
  return all;
}

/// Milliseconds since 1970. The offset is taken once, so that a moment keeps its date. The clock of
/// a simulated machine has no dates.
std::int64_t unix_ms(std::int64_t ended_ns) {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  static const std::int64_t offset_ns = wall_offset_ns();
  return (ended_ns + offset_ns) / kNsPerMs;
}

/// All cores of a group are reserved; for a device the caller sets the number.
terms::Usage usage_of(std::uint64_t id, const runtime::UsageReport& report) {
  return {id,
          report.num_cores,
          report.num_cores,
          report.age_ns,
          report.core_busy_ns,
          report.requests.answered,
          report.memory,
          report.health};
}

}  // namespace

terms::KeptCounts Service::kept_counts(ModelHandle model) const {
  const auto served = models_.find(model);
  const bool keeps_replies = served.is_ok() && served->replying != nullptr;
  return keeps_replies ? served->replying->counts() : terms::KeptCounts();
}

Result<std::vector<terms::ModelStatistics>> Service::statistics(std::uint64_t model) const {
  std::vector<terms::ModelStatistics> all;
  for (const HostedModel& hosted : SLUICE_TRY(select_models(model))) {
    const auto snapshot = hosted.host->statistics(ModelHandle{hosted.info.handle});
    if (!snapshot.is_ok()) continue;  // unloaded meanwhile
    all.push_back(statistics_of(hosted.info, *snapshot));
    all.back().kept = kept_counts(ModelHandle{hosted.info.handle});
    if (snapshot->last_run_ns == 0) continue;
    all.back().last_run_unix_ms = unix_ms(snapshot->last_run_ns);
  }
  return all;
}

terms::ServerStatistics Service::all_statistics() const {
  terms::ServerStatistics all;
  auto models = statistics(0);
  if (models.is_ok()) all.models = std::move(*models);
  for (const terms::GroupInfo& group : engine_.list_groups()) {
    const auto report = engine_.report(group.id);
    if (!report.is_ok()) continue;  // destroyed meanwhile
    all.groups.push_back(usage_of(static_cast<std::uint64_t>(group.id.value()), *report));
  }
  for (const runtime::DeviceReport& report : engine_.report_devices()) {
    terms::Usage usage = usage_of(static_cast<std::uint64_t>(report.id.value()), report);
    usage.num_reserved_cores = report.num_reserved_cores;
    usage.sensors = report.sensors;
    usage.pools = report.pools;
    usage.is_withdrawn = !report.is_placeable;
    all.devices.push_back(std::move(usage));
  }
  all.memory = memory_.by_kind();
  all.memory_limit_bytes = ClientMemory::process()->limit_bytes();
  return all;
}

LoadReport Service::load_report() const {
  return load_meter_.report(system_clock().now_ns(), [this] {
    LoadSample sample;
    for (const terms::GroupInfo& group : engine_.list_groups()) {
      const auto report = engine_.report(group.id);
      if (!report.is_ok()) continue;  // destroyed meanwhile
      sample.groups.push_back({group.id, report->num_cores, report->core_busy_ns});
    }
    for (const HostedModel& model : all_models()) {
      const auto statistics = model.host->statistics(ModelHandle{model.info.handle});
      if (!statistics.is_ok()) continue;
      for (const terms::CodeCount& one : statistics->answered) {
        sample.answered += one.count;
        if (one.code != RuntimeCode::kOk) sample.failed += one.count;
      }
      if (model.info.queue_limit <= 0) continue;
      sample.fullest_line =
          std::max(sample.fullest_line, static_cast<double>(statistics->waiting) /
                                            static_cast<double>(model.info.queue_limit));
    }
    return sample;
  });
}

Metrics Service::metrics() const {
  Metrics all;
  all.server = server();
  all.load = load();
  all.descriptors = descriptor_use();
  all.num_refused_connections = num_refused_connections();
  if (const auto pages = HugePages::of_process()) {
    all.num_huge_pages = pages->num_pages();
    all.num_huge_pages_taken = pages->num_taken();
  }
  all.sessions = list_sessions();
  all.memory = memory_.by_kind();
  all.memory_of_accounts = memory_.by_account();
  all.memory_limit_bytes = ClientMemory::process()->limit_bytes();
  all.exemplars = telemetry_->exemplars();
  for (HostedModel& hosted : all_models()) {
    auto requests = hosted.host->statistics(ModelHandle{hosted.info.handle});
    if (!requests.is_ok()) continue;  // unloaded meanwhile
    const auto kept = kept_counts(ModelHandle{hosted.info.handle});
    all.models.push_back({std::move(hosted.info), std::move(*requests), hosted.version, kept});
  }
  for (const terms::GroupInfo& group : all_groups()) {
    auto report = engine_.report(group.id);
    if (!report.is_ok()) continue;  // destroyed meanwhile
    all.groups.push_back(std::move(*report));
    const bool has_worker = group.worker.isolation == terms::Isolation::kProcess;
    if (has_worker) all.workers.push_back({group.id, group.worker});
  }
  all.devices = engine_.report_devices();
  return all;
}

}  // namespace sluice::service
