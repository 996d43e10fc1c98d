// The part of Service that tells what models, groups and devices did.
#include "base/system/huge_pages.h"
#include "service/clients/refusals.h"
#include "service/service.h"

namespace sluice::service {

using runtime::ModelHandle;

namespace {

Latency latency_of(const runtime::HistogramSnapshot& histogram) {
  return {histogram.count(),          histogram.sum_ns(),          histogram.quantile_ns(0.5),
          histogram.quantile_ns(0.9), histogram.quantile_ns(0.99), histogram.max_ns()};
}

std::vector<Latency::Bucket> buckets_of(const runtime::HistogramSnapshot& histogram) {
  std::vector<Latency::Bucket> buckets;
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    const std::int64_t count = histogram.counts()[i];
    if (count > 0) buckets.push_back({runtime::HistogramBuckets::lower_bound_ns(i), count});
  }
  return buckets;
}

ModelStatistics statistics_of(const runtime::ModelInfo& info,
                              const runtime::ModelStatisticsSnapshot& snapshot) {
  ModelStatistics all = {info.handle,
                         info.name,
                         snapshot.accepted,
                         snapshot.refused,
                         snapshot.waiting,
                         snapshot.max_waiting,
                         snapshot.answered,
                         snapshot.started,
                         snapshot.busy_ns,
                         {},
                         {},
                         {},
                         {},
                         snapshot.recorded_bytes,
                         snapshot.joined};
  all.queue = latency_of(snapshot.queue);
  all.copy = latency_of(snapshot.copy);
  all.compute = latency_of(snapshot.compute);
  all.total = latency_of(snapshot.total);
  all.total.buckets = buckets_of(snapshot.total);
  return all;
}

Usage usage_of(std::uint64_t id, const runtime::UsageReport& report) {
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

Result<std::vector<ModelStatistics>> Service::statistics(std::uint64_t model) const {
  std::vector<ModelStatistics> all;
  for (const HostedModel& hosted : SLUICE_TRY(select_models(model))) {
    const auto snapshot = hosted.host->statistics(ModelHandle{hosted.info.handle});
    if (snapshot.is_ok()) all.push_back(statistics_of(hosted.info, *snapshot));
  }
  return all;
}

ServerStatistics Service::all_statistics() const {
  ServerStatistics all;
  auto models = statistics(0);
  if (models.is_ok()) all.models = std::move(*models);
  for (const runtime::GroupInfo& group : engine_.list_groups()) {
    const auto report = engine_.report(group.id);
    if (!report.is_ok()) continue;  // destroyed meanwhile
    all.groups.push_back(usage_of(static_cast<std::uint64_t>(group.id.value()), *report));
  }
  for (const runtime::DeviceReport& report : engine_.report_devices()) {
    Usage usage = usage_of(static_cast<std::uint64_t>(report.id.value()), report);
    usage.num_reserved_cores = report.num_reserved_cores;
    all.devices.push_back(std::move(usage));
  }
  return all;
}

Metrics Service::metrics() const {
  Metrics all;
  all.server = server();
  all.descriptors = descriptor_use();
  all.num_refused_connections = num_refused_connections();
  if (const auto pages = HugePages::of_process()) {
    all.num_huge_pages = pages->num_pages();
    all.num_huge_pages_taken = pages->num_taken();
  }
  all.sessions = list_sessions();
  for (HostedModel& hosted : all_models()) {
    auto requests = hosted.host->statistics(ModelHandle{hosted.info.handle});
    if (!requests.is_ok()) continue;  // unloaded meanwhile
    all.models.push_back({std::move(hosted.info), std::move(*requests)});
  }
  for (const runtime::GroupInfo& group : all_groups()) {
    auto report = engine_.report(group.id);
    if (!report.is_ok()) continue;  // destroyed meanwhile
    all.groups.push_back(std::move(*report));
    const bool has_worker = group.worker.isolation == runtime::Isolation::kProcess;
    if (has_worker) all.workers.push_back({group.id, group.worker});
  }
  all.devices = engine_.report_devices();
  return all;
}

}  // namespace sluice::service
