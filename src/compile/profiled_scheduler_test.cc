#include "compile/profiled_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "compile/compile.h"
#include "compile/optimize.h"
#include "compile/profile/measure.h"
#include "compile/profile/operation_key.h"
#include "ir/text/graph_text.h"
#include "support/sim.h"

namespace sluice::compile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const backend::BackendRegistry& both_backends() {
  static const backend::BackendRegistry kRegistry = backend::BackendRegistry::discover();
  return kRegistry;
}

ir::Graph three_operations(const std::string& batch) {
  std::string text = R"(
subgraph @0 "main" {
  input %x : f32[N, 64]
  [%a : f32[N, 64]] = Exp.13[%x] "exp"
  [%b : f32[N, 64]] = Softmax.13[%a] "softmax"
  [%c : f32[N, 64]] = CumSum.14[%b, %axis] "sum"
  const %axis : i32[] = [1]
  output [%c]
}
)";
  for (auto at = text.find("[N,"); at != std::string::npos; at = text.find("[N,")) {
    text.replace(at, 2, "[" + batch);
  }
  return ir::parse_graph(text).value();
}

Result<package::Executable> schedule(std::shared_ptr<const OperatorProfile> profile,
                                     std::vector<std::string> places = {},
                                     const std::string& batch = "64") {
  CompileOptions options;
  options.backends = {"cpu", "reference"};
  options.places = std::move(places);
  options.profile = std::move(profile);
  return compile(three_operations(batch), both_backends(), options);
}

std::vector<std::string> scheduled_backends(const Result<package::Executable>& executable) {
  if (!executable.is_ok()) return {executable.status().to_string()};
  std::vector<std::string> names;
  for (const std::int16_t number : executable->backend_of.front()) {
    names.push_back(number < 0 ? "-" : executable->backends[static_cast<std::size_t>(number)]);
  }
  return names;
}

using TimeOf = std::function<double(const std::string& backend, const std::string& kind)>;

/// A profile in which operation `kind` takes `time_of` ns.
std::shared_ptr<OperatorProfile> made_up(const TimeOf& time_of, TransferCost reference_copy = {}) {
  auto profile = std::make_shared<OperatorProfile>();
  const auto executable = schedule(nullptr).value();
  for (const char* name : {"cpu", "reference"}) {
    const auto backend = both_backends().find(name).value();
    DeviceProfile& device = profile->devices[device_key(*backend, 2)];
    if (backend->name() == "reference") device.to_device = device.from_device = reference_copy;
    const ir::Subgraph& main = executable.graph.main();
    for (const ir::OperationId id : main.order()) {
      const auto op = backend::Op::create({executable.graph, main, main.operation(id)}).value();
      device.times_ns[key_of(op.get())] = time_of(name, main.operation(id).kind);
    }
  }
  return profile;
}

DeviceProfile& profile_of(const std::string& backend, OperatorProfile& profile) {
  return profile.devices.at(device_key(*both_backends().find(backend).value(), 2));
}

double cpu_is_slow_at_softmax(const std::string& backend, const std::string& kind) {
  return (backend == "cpu") == (kind == "Softmax") ? 1000 : 100;
}

TEST(ProfiledScheduler, OperationGoesWhereItIsFastest) {
  EXPECT_THAT(scheduled_backends(schedule(nullptr)), ElementsAre("cpu", "cpu", "cpu"));
  EXPECT_THAT(scheduled_backends(schedule(made_up(cpu_is_slow_at_softmax))),
              ElementsAre("cpu", "reference", "cpu"));
}

TEST(ProfiledScheduler, TimesSavedInAFileDecide) {
  const std::string file = to_json(*made_up(cpu_is_slow_at_softmax));
  const auto saved = std::make_shared<OperatorProfile>(parse_operator_profile(file).value());
  EXPECT_THAT(scheduled_backends(schedule(saved)), ElementsAre("cpu", "reference", "cpu"));
}

TEST(ProfiledScheduler, CopiesThatCostMoreThanTheyGainKeepOperationsTogether) {
  const auto profile = made_up(cpu_is_slow_at_softmax, {.latency_ns = 5000});
  EXPECT_THAT(scheduled_backends(schedule(profile)), ElementsAre("cpu", "cpu", "cpu"));
  const auto slow_cpu =
      made_up([](const std::string& backend,
                 const std::string&) { return backend == "cpu" ? 1000.0 : 900.0; },
              {.latency_ns = 5000});
  EXPECT_THAT(scheduled_backends(schedule(slow_cpu, {"CumSum=reference"})),
              ElementsAre("reference", "reference", "reference"));
}

TEST(ProfiledScheduler, EachDirectionOfACopyHasItsCost) {
  // The host's cpu computes all but the Softmax: in and back are a copy each.
  auto profile = made_up(cpu_is_slow_at_softmax);
  DeviceProfile& device = profile_of("reference", *profile);
  device.to_device = {.latency_ns = 500};
  device.from_device = {.latency_ns = 300};
  EXPECT_THAT(scheduled_backends(schedule(profile)), ElementsAre("cpu", "reference", "cpu"));
  device.from_device = {.latency_ns = 500};
  EXPECT_THAT(scheduled_backends(schedule(profile)), ElementsAre("cpu", "cpu", "cpu"));
}

TEST(ProfiledScheduler, LaunchCountsOncePerHandOver) {
  // Alone, each operation takes 1000 on cpu and 800 on the reference, of which 700 are its launch.
  const auto time_of = [](const std::string& backend, const std::string&) {
    return backend == "cpu" ? 1000.0 : 800.0;
  };
  auto profile = made_up(time_of);
  DeviceProfile& device = profile_of("reference", *profile);
  device.launch_ns = 700;
  EXPECT_THAT(scheduled_backends(schedule(profile)),
              ElementsAre("reference", "reference", "reference"));
  // Alone on the reference, the Softmax costs 800 and a second launch of cpu, else 700.
  profile_of("cpu", *profile).launch_ns = 300;
  EXPECT_THAT(scheduled_backends(schedule(profile, {"Exp=cpu", "CumSum=cpu"})),
              ElementsAre("cpu", "cpu", "cpu"));
}

TEST(ProfiledScheduler, RuleExcludesABackendThatIsFaster) {
  EXPECT_THAT(scheduled_backends(schedule(made_up(cpu_is_slow_at_softmax), {"Softmax=cpu"})),
              ElementsAre("cpu", "cpu", "cpu"));
}

TEST(ProfiledScheduler, BackendWithoutTimesFailsAndTellsHowToMeasure) {
  auto profile = made_up(cpu_is_slow_at_softmax);
  profile->devices.erase(device_key(*both_backends().find("reference").value(), 2));
  const auto status = schedule(profile).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("no times for backend \"reference\""),
                    HasSubstr("sluice operator-times MODEL --backend cpu,reference")));
}

TEST(ProfiledScheduler, OpenShapesFailAndNameTheOption) {
  const auto status = schedule(made_up(cpu_is_slow_at_softmax), {}, "K").status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("--shape"));
}

TEST(MeasureOperators, TimesOfEveryBackendScheduleTheModel) {
  const auto executable = schedule(nullptr).value();
  const std::vector<std::string> names = {"cpu", "reference", "sim"};
  const auto backends = find_backends(both_backends(), names).value();
  const auto profile = measure_operators(executable.graph, backends, 1).value();
  EXPECT_EQ(profile.devices.at(device_key(*backends[0], 1)).times_ns.size(), 3U);
  for (const auto& [key, device] : profile.devices) {
    for (const auto& [operation, time_ns] : device.times_ns) {
      EXPECT_GT(time_ns, 0) << key << " " << operation;
    }
  }
  EXPECT_EQ(scheduled_backends(schedule(std::make_shared<OperatorProfile>(profile))).size(), 3U);
}

/// Two devices with memory of their own, 1 ns a byte from the host.
sluice::testing::Sim two_devices(const char* links) {
  auto sim = sluice::testing::make_sim(fmt::format(
      R"({{"devices": [{{"count": 2, "host_memory": false, "copy": {{
           "to_device": {{"bytes_per_s": 1e9, "latency_ns": 5000}},
           "to_host": {{"bytes_per_s": 1e9, "latency_ns": 5000}}}}}}]{}}})",
      links));
  EXPECT_TRUE(sim.is_ok()) << sim.status().to_string();
  return std::move(sim).value();
}

constexpr const char* kFastLink =
    R"(, "links": [{"a": 0, "b": 1, "bytes_per_s": 1e11, "latency_ns": 100}])";

TEST(MeasureHandOver, CopyBetweenDevicesCostsWhatTheirLinkDoes) {
  const auto sim = two_devices(kFastLink);
  const HandOver linked = measure_hand_over(sim.backend, 1).value();
  EXPECT_NEAR(linked.to_device.ns_per_byte, 1, 1e-3);
  ASSERT_TRUE(linked.between_devices);
  EXPECT_NEAR(linked.between_devices->ns_per_byte, 0.01, 1e-3);
  EXPECT_LT(linked.between_devices->latency_ns, linked.to_device.latency_ns);
}

TEST(MeasureHandOver, DeviceOfTheHostsMemoryHasNoCopies) {
  const auto cpu = measure_hand_over(both_backends().find("cpu").value(), 1).value();
  EXPECT_FALSE(cpu.between_devices);
  EXPECT_EQ(cpu.to_device.ns_per_byte, 0);
}

/// Where the scheduler puts the Softmax between two operations of the first device: on the second,
/// or on the processor.
std::string place_of_softmax(const sluice::testing::Sim& sim,
                             std::optional<TransferCost> between_devices) {
  CompileOptions options;
  options.backends = {"sim", "sim:1", "cpu"};
  options.places = {"exp=sim", "softmax=sim:1,cpu", "sum=sim"};
  const auto plain = compile(three_operations("64"), sim.registry, options).value();
  auto profile = std::make_shared<OperatorProfile>();
  DeviceProfile& device = profile->devices[device_key(*sim.backend, 1)];
  device.to_device = device.from_device = {.latency_ns = 5000};
  device.between_devices = between_devices;
  DeviceProfile& cpu = profile->devices[device_key(*sim.registry.find("cpu").value(), 1)];
  const ir::Subgraph& main = plain.graph.main();
  for (const ir::OperationId id : main.order()) {
    const auto op = backend::Op::create({plain.graph, main, main.operation(id)}).value();
    device.times_ns[key_of(op.get())] = cpu.times_ns[key_of(op.get())] = 1000;
  }
  options.profile = std::move(profile);
  return scheduled_backends(compile(three_operations("64"), sim.registry, options)).at(1);
}

TEST(ProfiledScheduler, LinkBetweenDevicesMakesTheSecondNearerThanTheHost) {
  const auto sim = two_devices(kFastLink);
  EXPECT_EQ(place_of_softmax(sim, std::nullopt), "cpu") << "four copies of the host against two";
  EXPECT_EQ(place_of_softmax(sim, TransferCost{.latency_ns = 100}), "sim:1");
}

TEST(OperatorProfile, FileGivesBackWhatWasWritten) {
  auto profile = made_up(cpu_is_slow_at_softmax, {.latency_ns = 12.5, .ns_per_byte = 0.25});
  profile_of("cpu", *profile).between_devices = {.latency_ns = 3, .ns_per_byte = 0.5};
  const auto read = parse_operator_profile(to_json(*profile)).value();
  EXPECT_EQ(to_json(read), to_json(*profile));
  EXPECT_EQ(read.devices.size(), 2U);
}

TEST(OperatorProfile, FileOfVersion1HasOneTransferForBothDirections) {
  const auto profile = parse_operator_profile(
      R"({"format": "sluice operator profile", "version": 1, "devices": {"far 1 x1":
         {"transfer": {"latency_ns": 5, "ns_per_byte": 0.5}, "times_ns": {"a": 1}}}})");
  ASSERT_TRUE(profile.is_ok()) << profile.status().to_string();
  const DeviceProfile& device = profile->devices.at("far 1 x1");
  EXPECT_EQ(device.to_device.latency_ns, 5);
  EXPECT_EQ(device.from_device.ns_per_byte, 0.5);
  EXPECT_EQ(device.launch_ns, 0);
}

TEST(OperatorProfile, MergeReplacesTimesAndKeepsOthers) {
  OperatorProfile profile;
  profile.devices["cpu 1 x1"].times_ns = {{"a", 1}, {"b", 2}};
  OperatorProfile later;
  later.devices["cpu 1 x1"].times_ns = {{"b", 3}};
  later.devices["cpu 1 x2"].times_ns = {{"a", 4}};
  profile.merge(later);
  EXPECT_EQ(profile.find("cpu 1 x1", "a"), 1);
  EXPECT_EQ(profile.find("cpu 1 x1", "b"), 3);
  EXPECT_EQ(profile.find("cpu 1 x2", "a"), 4);
  EXPECT_EQ(profile.find("cpu 1 x2", "b"), std::nullopt);
}

TEST(OperatorProfile, FaultyFilesAreRefusedNamingTheField) {
  const auto message = [](std::string_view text) {
    return parse_operator_profile(text).status().message();
  };
  EXPECT_THAT(message("[1"), HasSubstr("not a JSON object"));
  EXPECT_THAT(message("{}"), HasSubstr("\"format\""));
  const std::string head = R"({"format": "sluice operator profile", "version": )";
  EXPECT_THAT(message(head + "3}"), HasSubstr("\"version\" is neither 1 nor 2"));
  EXPECT_THAT(message(head + R"(2, "devices": {"cpu": {}}})"), HasSubstr("\"to_device\""));
  EXPECT_THAT(message(head + R"(1, "devices": {"cpu": {}}})"), HasSubstr("\"transfer\""));
  EXPECT_THAT(message(head + R"(1, "devices": {"cpu": {"transfer":
      {"latency_ns": 1, "ns_per_byte": 0}, "times_ns": {"Conv": -3}}}})"),
              HasSubstr("\"Conv\" is -3"));
}

}  // namespace
}  // namespace sluice::compile
