// Profiles of an engine: on a simulated machine all times are exact, on `cpu` operations are there.
#include <gtest/gtest.h>

#include <map>

#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_testing.h"
#include "runtime/testing/manual_driver.h"
#include "support/sim.h"

namespace sluice::runtime {
namespace {

using testing::add_relu;
using testing::add_relu_in;
using testing::load_of;
using testing::request_of;

constexpr const char* kMachine = R"({"devices": [{"cores": 4, "compute": {"kernel_ns": 20000},
    "copy": {"to_device": {"latency_ns": 10000, "bytes_per_s": 1e15},
             "to_host": {"latency_ns": 5000, "bytes_per_s": 1e15}}}]})";

/// By kind, of all spans of a profile.
std::map<terms::SpanKind, std::int64_t> sums_of(const terms::Profile& profile) {
  std::map<terms::SpanKind, std::int64_t> sums;
  for (const terms::ProfileSpan& span : profile.spans) sums[span.kind] += span.duration_ns;
  return sums;
}

std::map<terms::SpanKind, int> counts_of(const terms::Profile& profile) {
  std::map<terms::SpanKind, int> counts;
  for (const terms::ProfileSpan& span : profile.spans) ++counts[span.kind];
  return counts;
}

std::int64_t end_of(const terms::ProfileSpan& span) { return span.start_ns + span.duration_ns; }

/// Every span lies in a span of `kind` of its request, and on its lane where `on_lane`.
void expect_nested(const terms::Profile& profile, terms::SpanKind inner, terms::SpanKind outer,
                   bool on_lane) {
  for (const terms::ProfileSpan& span : profile.spans) {
    if (span.kind != inner) continue;
    int around = 0;
    for (const terms::ProfileSpan& other : profile.spans) {
      if (other.kind != outer || other.request != span.request || other.model != span.model) {
        continue;
      }
      if (on_lane && other.lane != span.lane) continue;
      around += other.start_ns <= span.start_ns && end_of(span) <= end_of(other) ? 1 : 0;
    }
    EXPECT_EQ(around, 1) << "request " << span.request << " at " << span.start_ns;
  }
}

void expect_parts_in_requests(const terms::Profile& profile) {
  for (const terms::SpanKind kind : {terms::SpanKind::kQueue, terms::SpanKind::kCopyIn,
                                     terms::SpanKind::kCompute, terms::SpanKind::kCopyOut}) {
    expect_nested(profile, kind, terms::SpanKind::kRequest, /*on_lane=*/false);
  }
}

TEST(EngineProfile, SumsOfSpansAreTheStatistics) {
  auto sim = sluice::testing::make_sim(kMachine);
  ASSERT_TRUE(sim.is_ok()) << sim.status().to_string();
  ManualDrivers drivers(*sim->time);
  EngineOptions options;
  terms::Device device;
  device.id = terms::DeviceId(0);
  device.kind = sim->backend->devices()[0].kind;
  device.backend = "sim";
  device.backend_index = 0;
  device.num_cores = 4;
  options.devices.devices = {device};
  testing::TestEngine engine(sim->registry, drivers, std::move(options));
  LoadRequest load = load_of(add_relu_in({1, 1}, "sim"));
  load.depth = 3;
  const terms::ModelHandle model = engine.load(load).value();
  const auto id = engine.start_profile({});
  ASSERT_TRUE(id.is_ok()) << id.status().to_string();
  int left = 3;  // in parallel, so that requests wait for each other's lane
  const auto sink = engine.sink(model).value();
  for (int i = 0; i < 3; ++i) {
    Request request = request_of(1);
    request.on_done = [&](const Reply& reply) {
      EXPECT_EQ(reply.code, RuntimeCode::kOk);
      --left;
    };
    ASSERT_TRUE(sink->submit(request).is_ok());
  }
  ASSERT_TRUE(sink->wait([&] { return left == 0; }, kNoDeadline));
  const terms::Profile profile = engine.stop_profile(*id).value();

  auto counts = counts_of(profile);
  EXPECT_EQ(counts[terms::SpanKind::kRequest], 3);
  EXPECT_EQ(counts[terms::SpanKind::kQueue], 3);
  EXPECT_EQ(counts[terms::SpanKind::kCopyIn], 3);
  EXPECT_EQ(counts[terms::SpanKind::kCompute], 6) << "two segments each";
  EXPECT_EQ(counts[terms::SpanKind::kCopyOut], 3);
  EXPECT_EQ(counts[terms::SpanKind::kOperation], 0) << "the simulator tells of none";
  const ModelStatisticsSnapshot statistics = engine.statistics(model).value();
  auto sums = sums_of(profile);
  EXPECT_EQ(sums[terms::SpanKind::kQueue], statistics.queue.sum_ns());
  EXPECT_EQ(sums[terms::SpanKind::kCopyIn] + sums[terms::SpanKind::kCopyOut],
            statistics.copy.sum_ns());
  EXPECT_EQ(sums[terms::SpanKind::kCompute], statistics.compute.sum_ns());
  EXPECT_EQ(sums[terms::SpanKind::kRequest], statistics.total.sum_ns());
  EXPECT_GE(sums[terms::SpanKind::kCompute], 6 * 20'000);
  expect_parts_in_requests(profile);
  ASSERT_EQ(profile.models.size(), 1U);
  EXPECT_EQ(profile.models[0].lanes.size(), 4U) << "copies and two segments";
}

class CpuProfile : public ::testing::Test {
 protected:
  CpuProfile() : engine_(testing::registry(), drivers_, {testing::cpu_map(1)}) {}

  ThreadDrivers drivers_;
  testing::TestEngine engine_;
};

TEST_F(CpuProfile, OperationSpansLieInTheirSegmentSpan) {
  const terms::ModelHandle model = engine_.load(load_of(add_relu())).value();
  terms::ProfileSettings settings;
  settings.model = model;
  const auto id = engine_.start_profile(settings).value();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(engine_.infer(model, request_of(1)).code, RuntimeCode::kOk);
  }
  const terms::Profile profile = engine_.stop_profile(id).value();
  auto counts = counts_of(profile);
  EXPECT_EQ(counts[terms::SpanKind::kRequest], 5);
  EXPECT_EQ(counts[terms::SpanKind::kCompute], 5);
  EXPECT_GE(counts[terms::SpanKind::kOperation], 5);
  expect_parts_in_requests(profile);
  expect_nested(profile, terms::SpanKind::kOperation, terms::SpanKind::kCompute, /*on_lane=*/true);
  bool has_add = false;
  for (const std::string& name : profile.names) has_add |= name.find("Add") != std::string::npos;
  EXPECT_TRUE(has_add);
  EXPECT_EQ(sums_of(profile)[terms::SpanKind::kCompute],
            engine_.statistics(model).value().compute.sum_ns());
}

TEST_F(CpuProfile, NothingIsRecordedAfterItsEnd) {
  const terms::ModelHandle model = engine_.load(load_of(add_relu())).value();
  const auto before = engine_.start_profile({}).value();
  const auto after = engine_.start_profile({}).value();
  EXPECT_TRUE(engine_.stop_profile(before).is_ok());
  EXPECT_EQ(engine_.infer(model, request_of(1)).code, RuntimeCode::kOk);
  EXPECT_EQ(counts_of(engine_.stop_profile(after).value())[terms::SpanKind::kRequest], 1);
  EXPECT_EQ(engine_.stop_profile(before).status().code(), Code::kNotFound);
}

TEST_F(CpuProfile, UnknownModelsAndGroupsAreRefused) {
  terms::ProfileSettings settings;
  settings.model = terms::ModelHandle(77);
  EXPECT_EQ(engine_.start_profile(settings).status().code(), Code::kNotFound);
  settings = {};
  settings.group = terms::CoreGroupId(77);
  EXPECT_EQ(engine_.start_profile(settings).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace sluice::runtime
