#include "service/prometheus/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

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
    statistics.record({1, 2, 3, duration_ns});
  }
  statistics.count_answer(RuntimeCode::kQueueFull);
  statistics.set_recorded_bytes(4096);
  return statistics.snapshot();
}

Metrics example() {
  Metrics metrics;
  metrics.server.version = "1.2.3";
  metrics.server.state = "ready";
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
  metrics.devices = {used};
  metrics.workers = {{terms::CoreGroupId(1), {terms::Isolation::kProcess, 7, 3, "ready", ""}}};
  return metrics;
}

TEST(Metrics, ReportsEveryStatistic) {
  const std::string text = to_prometheus(example());
  for (const char* line : {
           "sluice_build_info{version=\"1.2.3\"} 1\n",
           "sluice_ready 1\n",
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
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("sluice_group_memory_limit_bytes{"))) << "it has none";
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

/// The rules that `promtool check metrics` has: names, each family once with help and type before
/// its samples, no sample twice, counters end in _total, buckets rise.
TEST(Metrics, ModelsOfOneNameAreOneUnderTritonsNames) {
  Metrics metrics = example();
  metrics.models.push_back(metrics.models.front());
  metrics.models.back().info.handle += 1;
  const std::string text = to_prometheus(metrics);
  const std::string labels = "{model=\"resnet\",version=\"1\"} ";
  EXPECT_THAT(text, HasSubstr("\nnv_inference_request_success" + labels + "6\n"));
  EXPECT_THAT(text, HasSubstr("\nnv_inference_request_failure" + labels + "2\n"));
  EXPECT_THAT(text, HasSubstr("\nnv_inference_exec_count" + labels + "6\n"));
  EXPECT_THAT(text, HasSubstr("\nnv_inference_request_duration_us" + labels + "10004\n"));
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
