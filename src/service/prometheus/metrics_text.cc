#include "service/prometheus/metrics_text.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/process/usage.h"
#include "base/system/heap.h"
#include "service/prometheus/text.h"
#include "terms/runtime_code.h"

namespace sluice::service {
namespace {

using runtime::ModelStatisticsSnapshot;
using Labels = PrometheusText::Labels;

/// Somebody who answers requests: a model, a group, a device.
struct Source {
  Labels labels;
  const ModelStatisticsSnapshot* requests;
  const telemetry::Exemplar* exemplar = nullptr;  ///< of its latest traced request; null: none
};

std::string code_label(RuntimeCode code) {
  std::string name(terms::describe(code).name);
  std::ranges::replace(name, ' ', '_');
  return name;
}

Labels with(Labels labels, std::string_view name, std::string value) {
  labels.emplace_back(name, std::move(value));
  return labels;
}

Labels labels_of(const ModelMetrics& model) {
  return {{"model", fmt::format("{:#x}", model.info.handle)}, {"name", model.info.name}};
}
Labels labels_of(const runtime::GroupReport& group) {
  return {{"group", std::to_string(group.id.value())}};
}
Labels labels_of(const runtime::DeviceReport& device) {
  return {{"device", std::to_string(device.id.value())}};
}

void add_requests(PrometheusText& text, const std::string& of, const std::vector<Source>& sources) {
  // Names and labels are an interface: dashboards break if one changes. docs/daemon.md lists them.
  text.begin(of + "_requests_accepted_total", "counter", "Requests taken.");
  // The format wants all samples of a metric in one block, so the loops are by metric and not by
  // source.
  for (const Source& one : sources) text.add(one.labels, one.requests->accepted);
  text.begin(of + "_requests_refused_total", "counter", "Requests not taken.");
  for (const Source& one : sources) text.add(one.labels, one.requests->refused);
  text.begin(of + "_requests_waiting", "gauge", "Requests that wait for a slot.");
  for (const Source& one : sources) text.add(one.labels, one.requests->waiting);
  text.begin(of + "_requests_running", "gauge", "Requests that have a slot.");
  for (const Source& one : sources) text.add(one.labels, one.requests->num_running());
  text.begin(of + "_requests_answered_total", "counter",
             "Requests answered, by runtime code; all but ok are errors.");
  for (const Source& one : sources) {
    for (const terms::CodeCount& count : one.requests->answered) {
      text.add(with(one.labels, "code", code_label(count.code)), count.count);
    }
  }
  using Member = runtime::HistogramSnapshot ModelStatisticsSnapshot::*;
  struct Part {
    const char* name;
    const char* help;
    Member member;
  };
  constexpr std::array kParts = {
      Part{"_request_duration_seconds", "From submission to answer.",
           &ModelStatisticsSnapshot::total},
      Part{"_queue_duration_seconds", "From submission to the first stage.",
           &ModelStatisticsSnapshot::queue},
      Part{"_copy_duration_seconds", "Copies of inputs and outputs.",
           &ModelStatisticsSnapshot::copy},
      Part{"_compute_duration_seconds", "Kernels.", &ModelStatisticsSnapshot::compute}};
  for (const Part& part : kParts) {
    text.begin(of + part.name, "histogram", part.help);
    const bool is_total = part.member == &ModelStatisticsSnapshot::total;
    for (const Source& one : sources) {
      text.add(one.labels, one.requests->*part.member, is_total ? one.exemplar : nullptr);
    }
  }
}

template <typename Report>
std::vector<Source> sources_of(const std::vector<Report>& reports) {
  std::vector<Source> sources;
  for (const Report& report : reports) sources.push_back({labels_of(report), &report.requests});
  return sources;
}

void add_server(PrometheusText& text, const Metrics& metrics) {
  text.begin("build_info", "gauge", "Always 1; the version is the label.");
  text.add({{"version", metrics.server.version}}, 1);
  text.begin("ready", "gauge", "1 while requests are taken, 0 while the daemon is draining.");
  text.add({}, metrics.server.state == "ready" ? 1 : 0);
  text.begin("load_ratio", "gauge", "The busiest group or the fullest line, from 0 to 1.");
  text.add_ratio({}, metrics.load);
  text.begin("uptime_seconds", "gauge", "Since the daemon was started.");
  text.add_seconds({}, metrics.server.uptime_ns);
  text.begin("descriptors_open", "gauge", "File descriptors of the daemon.");
  text.add({}, metrics.descriptors.num_open);
  text.begin("descriptors_max", "gauge", "Their limit.");
  text.add({}, metrics.descriptors.max_open);
  text.begin("heap_bytes", "gauge", "Memory that the daemon has allocated.");
  text.add({}, heap_bytes());
  const ProcessUsage usage = process_usage();
  text.begin("resident_bytes", "gauge", "Memory of the daemon's process, as the system counts it.");
  text.add({}, usage.resident_bytes);
  text.begin("processor_seconds_total", "counter", "Processor time of the daemon's process.");
  text.add_seconds({}, usage.processor_ns);
  text.begin("memory_bytes", "gauge", "What clients make the daemon hold, by what for.");
  for (const auto& item : metrics.memory) text.add({{"category", item.category}}, item.bytes);
  text.begin("memory_limit_bytes", "gauge", "The most that all categories may be together.");
  text.add({}, metrics.memory_limit_bytes);
  text.begin("account_memory_bytes", "gauge", "The same, by the user or token that made it.");
  for (const auto& item : metrics.memory_of_accounts) {
    text.add({{"account", item.category}}, item.bytes);
  }
  text.begin("connections_refused_total", "counter", "Connections closed instead of served.");
  text.add({}, metrics.num_refused_connections);
  text.begin("cores", "gauge", "Cores of all devices.");
  text.add({}, metrics.server.num_cores);
  text.begin("cores_free", "gauge", "Cores that no group has, of devices that get new groups.");
  text.add({}, metrics.server.num_free_cores);
  text.begin("huge_pages", "gauge", "Pages of 2 MiB that the daemon has reserved.");
  text.add({}, metrics.num_huge_pages);
  text.begin("huge_pages_taken", "gauge", "Those of them that hold tensors.");
  text.add({}, metrics.num_huge_pages_taken);
  text.begin("sessions", "gauge", "Open sessions.");
  text.add({}, static_cast<std::int64_t>(metrics.sessions.size()));
  std::int64_t num_in_flight = 0;
  for (const terms::SessionInfo& session : metrics.sessions) num_in_flight += session.num_in_flight;
  text.begin("session_requests_in_flight", "gauge",
             "Requests of sessions that wait for an answer.");
  text.add({}, num_in_flight);
}

void add_telemetry(PrometheusText& text, const Metrics& metrics) {
  if (metrics.spans) {
    text.begin("trace_spans_sent_total", "counter", "Spans that the collector took.");
    text.add({}, metrics.spans->sent_spans);
    text.begin("trace_spans_lost_total", "counter", "Spans that the collector did not take.");
    text.add({}, metrics.spans->lost_spans);
    text.begin("trace_requests_dropped_total", "counter",
               "Traced requests whose spans found the queue full.");
    text.add({}, metrics.spans->dropped_requests);
  }
  if (metrics.lost_access_lines) {
    text.begin("access_lines_lost_total", "counter", "Requests without a line in the access log.");
    text.add({}, *metrics.lost_access_lines);
  }
}

void add_models(PrometheusText& text, const Metrics& metrics) {
  const std::vector<ModelMetrics>& models = metrics.models;
  using terms::ModelPhase;
  text.begin("model_phase", "gauge", "1 for the phase that the model is in, 0 for the others.");
  for (const ModelMetrics& model : models) {
    for (const ModelPhase phase :
         {ModelPhase::kLoaded, ModelPhase::kStarted, ModelPhase::kStopped, ModelPhase::kFailed}) {
      text.add(with(labels_of(model), "phase", std::string(terms::phase_name(phase))),
               model.info.phase == phase ? 1 : 0);
    }
  }
  text.begin("model_group", "gauge", "The handle of the core group that the model is on.");
  for (const auto& model : models) text.add(labels_of(model), model.info.group.value());
  text.begin("model_starts_total", "counter", "How often the model was started.");
  for (const auto& model : models) text.add(labels_of(model), model.requests.started);
  text.begin("model_busy_seconds_total", "counter", "Time in which at least one stage ran.");
  for (const auto& model : models) text.add_seconds(labels_of(model), model.requests.busy_ns);
  text.begin("model_memory_bytes", "gauge", "What the model was estimated to take.");
  for (const auto& model : models) {
    text.add(labels_of(model), model.info.footprint.total_bytes());
  }
  text.begin("model_joined_requests_total", "counter", "Requests that ran together with others");
  for (const auto& model : models) text.add(labels_of(model), model.requests.joined);
  text.begin("model_reply_hits_total", "counter", "Requests answered by the response cache");
  for (const auto& model : models) text.add(labels_of(model), model.kept.hits);
  text.begin("model_reply_misses_total", "counter",
             "Requests that the response cache had no answer for");
  for (const auto& model : models) text.add(labels_of(model), model.kept.misses);
  text.begin("model_recorded_bytes", "gauge",
             "Command lists and plans that its slots keep for shapes of earlier requests.");
  for (const auto& model : models) text.add(labels_of(model), model.requests.recorded_bytes);
  std::vector<Source> sources;
  for (const ModelMetrics& model : models) {
    const auto exemplar = metrics.exemplars.find({model.info.name, model.version});
    sources.push_back({labels_of(model), &model.requests,
                       exemplar == metrics.exemplars.end() ? nullptr : &exemplar->second});
  }
  add_requests(text, "model", sources);
}

/// What groups and devices have in common.
template <typename Report>
void add_usage(PrometheusText& text, const std::string& of, const std::vector<Report>& reports) {
  text.begin(of + "_cores", "gauge", "Cores.");
  for (const auto& report : reports) text.add(labels_of(report), report.num_cores);
  text.begin(of + "_core_busy_seconds_total", "counter",
             "Time of kernels, times the cores that they ran on.");
  for (const auto& report : reports) text.add_seconds(labels_of(report), report.core_busy_ns);
  text.begin(of + "_memory_bytes", "gauge", "Memory in use, by what for.");
  for (const auto& report : reports) {
    for (const auto& item : report.memory) {
      text.add(with(labels_of(report), "category", item.category), item.bytes);
    }
  }
  text.begin(of + "_healthy", "gauge", "1 if healthy, 0 if degraded or failed.");
  for (const auto& report : reports) {
    text.add(labels_of(report), report.health.state == terms::HealthState::kHealthy ? 1 : 0);
  }
  add_requests(text, of, sources_of(reports));
}

void add_groups(PrometheusText& text, const std::vector<runtime::GroupReport>& groups) {
  add_usage(text, "group", groups);
  text.begin("group_switches_total", "counter", "From one active model to another.");
  for (const auto& group : groups) text.add(labels_of(group), group.num_switches);
  text.begin("group_memory_peak_bytes", "gauge", "The most memory that was in use at one time.");
  for (const auto& group : groups) text.add(labels_of(group), group.memory_peak_bytes);
  text.begin("group_memory_limit_bytes", "gauge", "Memory limit of a group that has one.");
  for (const auto& group : groups) {
    // No sample rather than -1: a ratio with it would be nonsense.
    if (group.max_memory_bytes == topology::MemoryBudget::kUnlimited) continue;
    text.add(labels_of(group), group.max_memory_bytes);
  }
}

void add_workers(PrometheusText& text, const std::vector<Metrics::Worker>& workers) {
  const auto labels = [](const Metrics::Worker& worker) {
    return Labels{{"group", std::to_string(worker.group.value())}};
  };
  text.begin("group_worker_restarts_total", "counter", "How often its worker process died.");
  for (const auto& worker : workers) text.add(labels(worker), worker.info.num_restarts);
  text.begin("group_worker_ready", "gauge", "1 while its worker process serves.");
  for (const auto& worker : workers) text.add(labels(worker), worker.info.state == "ready" ? 1 : 0);
}

/// Only what a device tells has a sample.
void add_sensors(PrometheusText& text, const std::vector<runtime::DeviceReport>& devices) {
  const auto add = [&](const runtime::DeviceReport& device, const std::optional<double>& value) {
    if (value) text.add_tenths(labels_of(device), *value);
  };
  text.begin("device_temperature_celsius", "gauge",
             "Temperature of the part nearest to its limit.");
  for (const auto& device : devices) add(device, device.sensors.temperature_c);
  text.begin("device_temperature_limit_celsius", "gauge", "What its maker calls critical.");
  for (const auto& device : devices) add(device, device.sensors.temperature_limit_c);
  text.begin("device_power_watts", "gauge", "What it takes.");
  for (const auto& device : devices) add(device, device.sensors.power_w);
  text.begin("device_memory_errors_total", "counter",
             "Errors of its memory since the system's start.");
  for (const auto& device : devices) {
    const auto count = [&](const char* kind, const std::optional<std::int64_t>& number) {
      if (number) text.add(with(labels_of(device), "kind", kind), *number);
    };
    count("corrected", device.sensors.num_corrected_errors);
    count("uncorrected", device.sensors.num_uncorrected_errors);
  }
  text.begin("device_throttles_total", "counter", "How often heat slowed it down.");
  for (const auto& device : devices) {
    if (device.sensors.num_throttles) text.add(labels_of(device), *device.sensors.num_throttles);
  }
  text.begin("device_placeable", "gauge", "1 if it gets new groups, 0 while its hardware is ill.");
  for (const auto& device : devices) text.add(labels_of(device), device.is_placeable ? 1 : 0);
}

/// Adds the pools of devices with memory of their own.
void add_pools(PrometheusText& text, const std::vector<runtime::DeviceReport>& devices) {
  using terms::DevicePools;
  const auto add =
      [&](const char* name, const char* type, const char* help, const char* label,
          std::initializer_list<std::pair<const char*, std::int64_t DevicePools::*>> members) {
        text.begin(name, type, help);
        for (const auto& device : devices) {
          if (!device.pools) continue;
          for (const auto& [value, member] : members) {
            Labels labels = labels_of(device);
            if (*label != '\0') labels = with(std::move(labels), label, value);
            text.add(labels, (*device.pools).*member);
          }
        }
      };
  add("device_streams", "gauge", "Streams of its pools.", "state",
      {{"in_use", &DevicePools::streams_in_use},
       {"unused", &DevicePools::streams_unused},
       {"draining", &DevicePools::streams_draining}});
  add("device_streams_made_total", "counter", "Streams made for its pools.", "",
      {{"", &DevicePools::streams_made}});
  add("device_streams_drained_total", "counter", "Returned streams whose work has ended.", "",
      {{"", &DevicePools::streams_drained}});
  add("device_pool_bytes", "gauge", "Memory of its pool.", "state",
      {{"reserved", &DevicePools::reserved_bytes},
       {"used", &DevicePools::used_bytes},
       {"idle", &DevicePools::idle_bytes}});
  add("device_pool_grown_bytes_total", "counter", "Memory that its pool took.", "",
      {{"", &DevicePools::grown_bytes}});
  add("device_pool_shrunk_bytes_total", "counter", "Memory that its pool gave back.", "",
      {{"", &DevicePools::shrunk_bytes}});
  const auto add_left = [&](const char* name, const char* help, auto member) {
    text.begin(name, "gauge", help);
    for (const auto& device : devices) {
      if (!device.pools) continue;
      std::int64_t sum = 0;
      for (const DevicePools::Left& left : device.pools->left) sum += left.*member;
      text.add(labels_of(device), sum);
    }
  };
  add_left("device_left_bytes", "Memory that unloaded models still have.",
           &DevicePools::Left::memory_bytes);
  add_left("device_left_streams", "Streams that unloaded models still have.",
           &DevicePools::Left::num_streams);
}

void add_devices(PrometheusText& text, const Metrics& metrics) {
  text.begin("device_info", "gauge", "Always 1; what the device is stands in the labels.");
  for (const terms::Device& device : metrics.server.devices) {
    text.add({{"device", std::to_string(device.id.value())},
              {"kind", device.kind},
              {"device_name", device.name},
              {"bus_address", device.bus_address}},
             1);
  }
  text.begin("device_memory_capacity_bytes", "gauge", "Memory of a device, if known.");
  for (const terms::Device& device : metrics.server.devices) {
    if (device.memory_bytes == 0) continue;
    text.add({{"device", std::to_string(device.id.value())}}, device.memory_bytes);
  }
  add_usage(text, "device", metrics.devices);
  text.begin("device_cores_reserved", "gauge", "Cores of groups.");
  for (const auto& device : metrics.devices) text.add(labels_of(device), device.num_reserved_cores);
  text.begin("device_groups", "gauge", "Groups with cores of the device.");
  for (const auto& device : metrics.devices) text.add(labels_of(device), device.num_groups);
  add_sensors(text, metrics.devices);
  add_pools(text, metrics.devices);
}

/// Counts of all models of one name.
struct TritonCounts {
  std::int64_t success = 0;
  std::int64_t inferences = 0;  ///< rows of runs
  std::int64_t failure = 0;
  std::int64_t pending = 0;
  std::int64_t runs = 0;
  std::int64_t request_us = 0;
  std::int64_t queue_us = 0;
  std::int64_t copy_in_us = 0;
  std::int64_t compute_us = 0;
  std::int64_t copy_out_us = 0;
  std::int64_t hits = 0;
  std::int64_t hit_us = 0;
  std::int64_t misses = 0;
  std::int64_t miss_us = 0;
};

/// The names that Triton gives to what is above, so that dashboards and autoscalers made for it
/// find them. Its documentation on metrics has the meanings.
void add_triton_names(PrometheusText& text, const std::vector<ModelMetrics>& models) {
  constexpr std::int64_t kNsPerUs = 1000;
  std::map<std::pair<std::string, std::int64_t>, TritonCounts> by_name;
  for (const ModelMetrics& model : models) {
    TritonCounts& counts = by_name[{model.info.name, model.version}];
    const ModelStatisticsSnapshot& requests = model.requests;
    counts.failure += requests.refused;
    std::int64_t computed = 0;
    for (const terms::CodeCount& answered : requests.answered) {
      (answered.code == RuntimeCode::kOk ? computed : counts.failure) += answered.count;
    }
    counts.success += computed + model.kept.hits;
    counts.inferences += std::max(computed, requests.num_rows());
    counts.pending += requests.waiting;
    counts.runs += requests.num_runs();
    counts.request_us += requests.total.sum_ns() / kNsPerUs;
    counts.queue_us += requests.queue.sum_ns() / kNsPerUs;
    counts.copy_in_us += (requests.copy.sum_ns() - requests.copy_out_ns) / kNsPerUs;
    counts.compute_us += requests.compute.sum_ns() / kNsPerUs;
    counts.copy_out_us += requests.copy_out_ns / kNsPerUs;
    counts.hits += model.kept.hits;
    counts.hit_us += model.kept.hit_ns / kNsPerUs;
    counts.misses += model.kept.misses;
    counts.miss_us += model.kept.miss_ns / kNsPerUs;
  }
  struct Family {
    const char* name;
    const char* help;
    std::int64_t TritonCounts::*member;
  };
  constexpr std::array kFamilies = {
      Family{"nv_inference_request_success", "Requests answered.", &TritonCounts::success},
      Family{"nv_inference_request_failure", "Requests refused or failed.", &TritonCounts::failure},
      Family{"nv_inference_count", "Rows of runs.", &TritonCounts::inferences},
      Family{"nv_inference_exec_count", "Runs.", &TritonCounts::runs},
      Family{"nv_inference_request_duration_us", "Until the answer.", &TritonCounts::request_us},
      Family{"nv_inference_queue_duration_us", "Until the first stage.", &TritonCounts::queue_us},
      Family{"nv_inference_compute_input_duration_us", "Copies of inputs.",
             &TritonCounts::copy_in_us},
      Family{"nv_inference_compute_infer_duration_us", "Kernels.", &TritonCounts::compute_us},
      Family{"nv_inference_compute_output_duration_us", "Copies of outputs.",
             &TritonCounts::copy_out_us},
      Family{"nv_cache_num_hits_per_model", "Requests answered by the response cache.",
             &TritonCounts::hits},
      Family{"nv_cache_hit_duration_per_model", "Microseconds of lookups that found an answer.",
             &TritonCounts::hit_us},
      Family{"nv_cache_num_misses_per_model", "Requests that the response cache had no answer for.",
             &TritonCounts::misses},
      Family{"nv_cache_miss_duration_per_model", "Microseconds of lookups that found none.",
             &TritonCounts::miss_us},
      Family{"nv_inference_pending_request_count", "Requests that wait.", &TritonCounts::pending}};
  for (const Family& family : kFamilies) {
    const bool is_gauge = family.member == &TritonCounts::pending;
    text.begin_alias(family.name, is_gauge ? "gauge" : "counter", family.help);
    for (const auto& [key, counts] : by_name) {
      text.add({{"model", key.first}, {"version", std::to_string(key.second)}},
               counts.*family.member);
    }
  }
}

}  // namespace

void add_metrics(const Metrics& metrics, PrometheusText& text) {
  add_server(text, metrics);
  add_telemetry(text, metrics);
  add_models(text, metrics);
  add_groups(text, metrics.groups);
  add_workers(text, metrics.workers);
  add_devices(text, metrics);
  add_triton_names(text, metrics.models);
}

std::string to_prometheus(const Metrics& metrics, MetricsForm form) {
  PrometheusText text(form);
  add_metrics(metrics, text);
  return text.take();
}

}  // namespace sluice::service
