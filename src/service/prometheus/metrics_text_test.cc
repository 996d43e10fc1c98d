#include "service/prometheus/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "service/prometheus/native_histogram.h"
#include "service/prometheus/text.h"

namespace sluice::service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

runtime::ModelStatisticsSnapshot requests_of(std::vector<std::int64_t> durations_ns) {
  runtime::ModelStatistics statistics;
  for (const std::int64_t duration_ns : durations_ns) {
    statistics.count_accepted();
    statistics.count_answer(RuntimeCode::kOk);
    const runtime::RequestTimes times = {1, 2'500'000, 3, duration_ns, 1'000'000, true};
    statistics.record(times);
    statistics.record_run(1, 1, times, 1);
  }
  statistics.count_answer(RuntimeCode::kQueueFull);
  statistics.set_recorded_bytes(4096);
  return statistics.snapshot();
}

Metrics example() {
  Metrics metrics;
  metrics.server.version = "1.2.3";
  metrics.server.state = "ready";
  metrics.load = 0.25;
  metrics.server.uptime_ns = 1'500'000'000;
  metrics.descriptors = {40, 1024};
  metrics.num_refused_connections = 3;
  metrics.server.num_cores = 8;
  terms::Device device;
  device.id = terms::DeviceId(0);
  device.kind = "sim";
  device.name = "a \"b\" \\ c\nd";
  device.memory_bytes = 1024;
  metrics.server.devices = {device};
  metrics.sessions.resize(2);
  metrics.sessions[0].num_in_flight = 3;
  ModelMetrics model;
  model.info.handle = 0x100000000;
  model.info.name = "resnet";
  model.info.group = terms::CoreGroupId(1);
  model.info.phase = terms::ModelPhase::kStarted;
  model.requests = requests_of({1023, 1024, 5'000'000});
  metrics.models = {model};
  runtime::GroupReport group;
  group.id = terms::CoreGroupId(1);
  group.memory = {{"constants", 512}};
  group.requests = model.requests;
  metrics.groups = {group};
  runtime::DeviceReport used;
  used.id = terms::DeviceId(0);
  used.core_busy_ns = 250'000'000;
  used.requests = model.requests;
  used.sensors = {.temperature_c = 71.25, .power_w = 85, .num_corrected_errors = 3};
  used.is_placeable = false;
  used.pools = {.streams_in_use = 3,
                .streams_draining = 1,
                .streams_made = 9,
                .reserved_bytes = 4096,
                .shrunk_bytes = 512,
                .left = {{"resnet", 200, 2}, {"bert", 100, 0}}};
  metrics.devices = {used};
  metrics.workers = {{terms::CoreGroupId(1), {terms::Isolation::kProcess, 7, 3, "ready", ""}}};
  return metrics;
}

TEST(Metrics, ReportsEveryStatistic) {
  const std::string text = to_prometheus(example());
  for (const char* line : {
           "sluice_build_info{version=\"1.2.3\"} 1\n",
           "sluice_ready 1\n",
           "sluice_load_ratio 0.2500\n",
           "sluice_group_requests_running{group=\"1\"} 0\n",
           "sluice_uptime_seconds 1.5\n",
           "sluice_descriptors_open 40\n",
           "sluice_descriptors_max 1024\n",
           "sluice_heap_bytes ",  // of this process
           "sluice_connections_refused_total 3\n",
           "sluice_sessions 2\n",
           "sluice_session_requests_in_flight 3\n",
           "sluice_model_phase{model=\"0x100000000\",name=\"resnet\",phase=\"started\"} 1\n",
           "sluice_model_phase{model=\"0x100000000\",name=\"resnet\",phase=\"failed\"} 0\n",
           "sluice_model_requests_answered_total{model=\"0x100000000\",name=\"resnet\","
           "code=\"ok\"} 3\n",
           "sluice_model_requests_answered_total{model=\"0x100000000\",name=\"resnet\","
           "code=\"queue_full\"} 1\n",
           "sluice_group_memory_bytes{group=\"1\",category=\"constants\"} 512\n",
           "sluice_group_request_duration_seconds_count{group=\"1\"} 3\n",
           "sluice_group_worker_restarts_total{group=\"1\"} 3\n",
           "sluice_group_worker_ready{group=\"1\"} 1\n",
           "sluice_device_core_busy_seconds_total{device=\"0\"} 0.25\n",
           "sluice_model_recorded_bytes{model=\"0x100000000\",name=\"resnet\"} 4096\n",
           "sluice_device_memory_capacity_bytes{device=\"0\"} 1024\n",
           "sluice_device_temperature_celsius{device=\"0\"} 71.2\n",
           "sluice_device_power_watts{device=\"0\"} 85.0\n",
           "sluice_device_memory_errors_total{device=\"0\",kind=\"corrected\"} 3\n",
           "sluice_device_placeable{device=\"0\"} 0\n",
           "sluice_device_streams{device=\"0\",state=\"in_use\"} 3\n",
           "sluice_device_streams{device=\"0\",state=\"draining\"} 1\n",
           "sluice_device_streams_made_total{device=\"0\"} 9\n",
           "sluice_device_pool_bytes{device=\"0\",state=\"reserved\"} 4096\n",
           "sluice_device_pool_shrunk_bytes_total{device=\"0\"} 512\n",
           "sluice_device_left_bytes{device=\"0\"} 300\n",
           "sluice_device_left_streams{device=\"0\"} 2\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("sluice_group_memory_limit_bytes{"))) << "it has none";
  EXPECT_THAT(text, Not(HasSubstr("sluice_device_throttles_total{"))) << "nobody tells";
  EXPECT_THAT(text, HasSubstr(R"(device_name="a \"b\" \\ c\nd")"));
}

TEST(Metrics, BucketsCountDurationsUpToTheirBound) {
  PrometheusText text;
  text.begin("x_seconds", "histogram", "X.");
  text.add({{"a", "b"}}, requests_of({1023, 1024, 5'000'000}).total);
  const std::string all = text.take();
  EXPECT_THAT(all, HasSubstr("sluice_x_seconds_bucket{a=\"b\",le=\"0.000001023\"} 1\n"));
  EXPECT_THAT(all, HasSubstr("sluice_x_seconds_bucket{a=\"b\",le=\"0.000002047\"} 2\n"));
  EXPECT_THAT(all, HasSubstr("sluice_x_seconds_bucket{a=\"b\",le=\"0.004194303\"} 2\n"));
  EXPECT_THAT(all, HasSubstr("sluice_x_seconds_bucket{a=\"b\",le=\"0.008388607\"} 3\n"));
  EXPECT_THAT(all, HasSubstr("sluice_x_seconds_bucket{a=\"b\",le=\"+Inf\"} 3\n"));
  EXPECT_THAT(all, HasSubstr("sluice_x_seconds_sum{a=\"b\"} 0.005002047\n"));
  EXPECT_THAT(all, HasSubstr("sluice_x_seconds_count{a=\"b\"} 3\n"));
}

TEST(OpenMetrics, MarksABucketWithItsTracedRequest) {
  Metrics metrics = example();
  telemetry::Exemplar exemplar;
  exemplar.trace.fill(0xab);
  exemplar.total_ns = 1024;
  exemplar.wall_ns = 1'700'000'000'250'000'000;
  metrics.exemplars[{"resnet", 1}] = exemplar;
  metrics.models.push_back(metrics.models.front());
  metrics.models.back().info.handle = 0x200000000;
  metrics.models.back().version = 2;
  const std::string text = to_prometheus(metrics, MetricsForm::kOpenMetrics);
  const std::string bucket =
      "sluice_model_request_duration_seconds_bucket{model=\"0x100000000\",name=\"resnet\",le=";
  EXPECT_THAT(text, HasSubstr(bucket + "\"0.000002047\"} 2 # {trace_id=\"" +
                              std::string("abababababababababababababababab") +
                              "\"} 0.000001024 1700000000.250\n"));
  EXPECT_THAT(text, HasSubstr(bucket + "\"0.000001023\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("compute_duration_seconds_bucket{model=\"0x100000000\",name="
                                  "\"resnet\",le=\"0.000002047\"} 3 #")));
  EXPECT_THAT(text, HasSubstr("model_request_duration_seconds_bucket{model=\"0x200000000\","
                              "name=\"resnet\",le=\"0.000002047\"} 2\n"))
      << "another version's";
  EXPECT_THAT(text, ::testing::EndsWith("\n# EOF\n"));
  EXPECT_THAT(to_prometheus(metrics), Not(HasSubstr("# {")));
}

TEST(OpenMetrics, NamesFamiliesOfCountersWithoutTheirEnd) {
  const std::string text = to_prometheus(example(), MetricsForm::kOpenMetrics);
  EXPECT_THAT(text, HasSubstr("# TYPE sluice_model_starts counter\n"));
  EXPECT_THAT(text, HasSubstr("\nsluice_model_starts_total{"));
  EXPECT_THAT(text, HasSubstr("# TYPE nv_inference_count unknown\n"));
}

TEST(MetricsForm, IsTheRichestThatAScraperTakes) {
  EXPECT_EQ(choose_form(""), MetricsForm::kText);
  EXPECT_EQ(choose_form("text/html,*/*;q=0.1"), MetricsForm::kText);
  const std::string open = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
  EXPECT_EQ(choose_form(open), MetricsForm::kOpenMetrics);
  EXPECT_EQ(choose_form("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
                        "encoding=delimited," +
                        open),
            MetricsForm::kProtobuf);
}

TEST(NativeHistogram, CountsEachValueNearItsBucket) {
  // 2^-10 s is the end of bucket -80; the runtime's bucket of it is at most an eighth wide.
  const auto counts = native_counts(requests_of({976'562, 976'562, 1'000'000'000}).total);
  std::int64_t total = 0;
  for (const auto& [bucket, count] : counts) {
    total += count;
    const bool is_near = std::abs(bucket + 80) <= 1 || std::abs(bucket) <= 1;
    EXPECT_TRUE(is_near) << bucket;
  }
  EXPECT_EQ(total, 3);
}

/// The rules that `promtool check metrics` has: names, each family once with help and type before
/// its samples, no sample twice, counters end in _total, buckets rise.
TEST(Metrics, ModelsOfOneNameAreOneUnderTritonsNames) {
  Metrics metrics = example();
  metrics.models.push_back(metrics.models.front());
  metrics.models.back().info.handle += 1;
  metrics.models.back().kept = {.hits = 4, .hit_ns = 8'000, .misses = 3, .miss_ns = 9'000};
  const std::string text = to_prometheus(metrics);
  const std::string labels = "{model=\"resnet\",version=\"1\"} ";
  EXPECT_THAT(text, HasSubstr("\nnv_inference_request_success" + labels + "10\n"));
  EXPECT_THAT(text, HasSubstr("\nnv_inference_count" + labels + "6\n"));
  EXPECT_THAT(text, HasSubstr("\nnv_cache_num_hits_per_model" + labels + "4\n"));
  EXPECT_THAT(text, HasSubstr("\nnv_cache_hit_duration_per_model" + labels + "8\n"));
  EXPECT_THAT(text, HasSubstr("\nnv_cache_num_misses_per_model" + labels + "3\n"));
  EXPECT_THAT(text, HasSubstr("\nnv_cache_miss_duration_per_model" + labels + "9\n"));
  EXPECT_THAT(text, HasSubstr("\nnv_inference_request_failure" + labels + "2\n"));
  EXPECT_THAT(text, HasSubstr("\nnv_inference_exec_count" + labels + "6\n"));
  EXPECT_THAT(text, HasSubstr("\nnv_inference_request_duration_us" + labels + "10004\n"));
  EXPECT_THAT(text, HasSubstr("\nnv_inference_compute_input_duration_us" + labels + "9000\n"));
  EXPECT_THAT(text, HasSubstr("\nnv_inference_compute_output_duration_us" + labels + "6000\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE nv_inference_pending_request_count gauge\n"));
}

TEST(Metrics, OutputIsValidPrometheusText) {
  const std::regex sample(
      R"re(([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? ([0-9.]+))re");
  std::map<std::string, std::string> types;
  std::set<std::string> seen;
  std::istringstream lines(to_prometheus(example()));
  std::string family;
  double last_bucket = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_FALSE(types.contains(family)) << line;
      continue;
    }
    if (line.starts_with("# TYPE ")) {
      ASSERT_EQ(line.substr(7, line.rfind(' ') - 7), family);
      types[family] = line.substr(line.rfind(' ') + 1);
      if (family.starts_with("nv_")) continue;  // Triton's counters do not
      EXPECT_EQ(types[family] == "counter", family.ends_with("_total")) << family;
      continue;
    }
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(line, parts, sample)) << line;
    EXPECT_TRUE(seen.insert(parts[1].str() + parts[2].str()).second) << line;
    const bool is_histogram = types[family] == "histogram";
    EXPECT_TRUE(is_histogram ? parts[1].str().starts_with(family) : parts[1].str() == family)
        << line;
    const double value = std::stod(parts[3]);
    const bool is_bucket = parts[1].str().ends_with("_bucket");
    EXPECT_TRUE(!is_bucket || value >= last_bucket) << line;
    last_bucket = is_bucket ? value : 0;
  }
  EXPECT_GT(seen.size(), 100U);
}

}  // namespace
}  // namespace sluice::service
