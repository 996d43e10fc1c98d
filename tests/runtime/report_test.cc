// What the engine reports of groups and devices, in virtual time.
#include <gmock/gmock.h>

#include "manual_engine.h"
#include "runtime/statistics/group_statistics.h"
#include "sim_engine.h"

namespace sluice::runtime {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kKernelNs = 20'000;
constexpr const char* kMachine = R"({"devices": [{"cores": 4, "compute": {"kernel_ns": 20000}}]})";

std::vector<std::string> categories(const UsageReport& report) {
  std::vector<std::string> names;
  for (const auto& item : report.memory) names.push_back(item.category);
  return names;
}

class ReportTest : public ::testing::Test {
 protected:
  terms::ModelHandle load() { return machine_.load(load_of(add_relu_in({2, 1}, "sim"))); }
  GroupReport group_of(terms::ModelHandle model) {
    return machine_.engine().report(machine_.engine().info(model)->group).value();
  }
  DeviceReport device() { return machine_.engine().report_devices().at(0); }

  SimEngine machine_{kMachine};
};

TEST_F(ReportTest, GroupCountsItsRequestsAndItsCoresTime) {
  const terms::ModelHandle model = load();
  machine_.run({model}, 10);
  const GroupReport report = group_of(model);
  EXPECT_EQ(report.requests.num_answered(), 10);
  EXPECT_EQ(report.requests.compute.count(), 10);
  EXPECT_EQ(report.num_cores, 3);
  EXPECT_EQ(report.core_busy_ns, 10 * (2 + 1) * kKernelNs) << "two cores, then one";
  EXPECT_EQ(report.age_ns, machine_.time().now_ns() - 0);
  EXPECT_THAT(categories(report), ::testing::UnorderedElementsAre("constants", "slots"));
  EXPECT_EQ(report.health.state, terms::HealthState::kHealthy);
}

TEST_F(ReportTest, DeviceTotalsIncludeDestroyedGroups) {
  const terms::ModelHandle model = load();
  machine_.run({model}, 10);
  DeviceReport report = device();
  EXPECT_EQ(report.num_groups, 1);
  EXPECT_EQ(report.num_reserved_cores, 3);
  EXPECT_EQ(report.num_cores, 4);
  EXPECT_EQ(report.requests.num_answered(), 10);
  EXPECT_THAT(categories(report), ::testing::UnorderedElementsAre("constants", "tensors"))
      << "as allocated there";
  ASSERT_TRUE(machine_.engine().unload(model).is_ok());
  report = device();
  EXPECT_EQ(report.num_groups, 0);
  EXPECT_EQ(report.requests.num_answered(), 10) << "counters never fall";
  EXPECT_EQ(report.core_busy_ns, 10 * 3 * kKernelNs);
  EXPECT_TRUE(report.memory.empty());
  machine_.run({load()}, 5);
  EXPECT_EQ(device().requests.num_answered(), 15);
}

TEST_F(ReportTest, WrongValuesOfRequestsLeaveTheModelHealthy) {
  const terms::ModelHandle model = load();
  ASSERT_TRUE(
      machine_.time().inject_fault(R"({"kind": "failed_kernel", "code": "OUT_OF_RANGE"})").is_ok());
  EXPECT_EQ(machine_.engine().infer(model, request_of(1)).code, RuntimeCode::kBadInput);
  for (const UsageReport& report : {UsageReport(group_of(model)), UsageReport(device())}) {
    EXPECT_EQ(report.requests.num_answered(), 1) << "it is counted, as a bad input";
    EXPECT_EQ(report.health.state, terms::HealthState::kHealthy) << report.health.reason;
  }
}

TEST_F(ReportTest, ErrorsAreCountedByKindAndHealthNamesTheRemedy) {
  const terms::ModelHandle model = load();
  ASSERT_TRUE(machine_.time().inject_fault(R"({"kind": "failed_kernel"})").is_ok());
  EXPECT_EQ(machine_.engine().infer(model, request_of(1)).code, RuntimeCode::kCompletedWithError);
  EXPECT_EQ(group_of(model).health.state, terms::HealthState::kDegraded);
  ASSERT_TRUE(machine_.time().inject_fault(R"({"kind": "lost_device", "device": 0})").is_ok());
  EXPECT_EQ(machine_.engine().infer(model, request_of(1)).code, RuntimeCode::kDeviceError);
  for (const UsageReport& report : {UsageReport(group_of(model)), UsageReport(device())}) {
    EXPECT_EQ(report.requests.num_answered(), 2);
    EXPECT_EQ(report.requests.answered.size(), 2U) << "one of each kind";
    EXPECT_EQ(report.health.state, terms::HealthState::kFailed);
    EXPECT_THAT(report.health.action, HasSubstr("reset its device, then the model"));
  }
}

TEST_F(ReportTest, UnknownGroupIsAnInvalidHandle) {
  const terms::ModelHandle model = load();
  const terms::CoreGroupId group = machine_.engine().info(model)->group;
  ASSERT_TRUE(machine_.engine().unload(model).is_ok());
  EXPECT_EQ(terms::runtime_code_of(machine_.engine().report(group).status()),
            RuntimeCode::kInvalidHandle);
}

class HostReportTest : public ManualEngineTest {};

TEST_F(HostReportTest, HostMemoryIncludesReservationsOfLoads) {
  load(load_of(add_relu()));
  EXPECT_THAT(categories(engine_->report_devices().at(0)), ::testing::Contains("constants"));
}

TEST_F(HostReportTest, SwitchesOfAGroupAreCounted) {
  const terms::CoreGroupId group = group_of(1);
  const terms::ModelHandle first = load_on(group, "first");
  const terms::ModelHandle second = load_on(group, "second");
  ASSERT_TRUE(engine_->start(first).is_ok());
  ASSERT_TRUE(engine_->stop(first).is_ok());
  ASSERT_TRUE(engine_->start(second).is_ok());
  EXPECT_EQ(engine_->report(group)->num_switches, 1);
}

TEST_F(ReportTest, DeviceHasItsSensorsAndTheWorseOfItsHealths) {
  terms::DeviceCondition hot;
  hot.sensors.temperature_c = 101;
  hot.health = {terms::HealthState::kFailed, "it is too hot", "check fans"};
  machine_.engine().set_condition(terms::DeviceId(0), hot);
  machine_.engine().set_condition(terms::DeviceId(7), hot);  // there is none
  EXPECT_EQ(device().sensors.temperature_c, 101);
  EXPECT_EQ(device().health.reason, "it is too hot");
  EXPECT_FALSE(device().is_placeable);
  const auto refused = machine_.engine().load(load_of(add_relu_in({2, 1}, "sim")));
  EXPECT_THAT(refused.status().message(), HasSubstr("it is too hot"));
  machine_.engine().set_condition(terms::DeviceId(0), {});
  EXPECT_EQ(device().health.state, terms::HealthState::kHealthy);
  load();
}

}  // namespace
}  // namespace sluice::runtime
