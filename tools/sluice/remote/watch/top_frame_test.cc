#include "sluice/remote/watch/top_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/remote/remote.h"
#include "sluice/remote/watch/top_table.h"

namespace sluice::tool {
namespace {

using activity::Activity;
using activity::Snapshot;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

terms::Device device_of(std::int32_t id, std::int32_t num_cores) {
  terms::Device device;
  device.id = terms::DeviceId(id);
  device.kind = "sim";
  device.bus_address = "0000:00:10.0";
  device.num_cores = num_cores;
  return device;
}

/// Two devices of four cores; group 1 has the first two of device 0, half busy.
Snapshot example() {
  Snapshot now;
  now.server.version = "0.1.0";
  now.server.state = "ready";
  now.server.num_cores = 8;
  now.server.num_free_cores = 6;
  now.server.devices = {device_of(0, 4), device_of(1, 4)};
  terms::GroupEntry group;
  group.info.id = terms::CoreGroupId(1);
  group.info.cores = {{terms::DeviceId(0), 0}, {terms::DeviceId(0), 1}};
  group.info.active_model = "resnet";
  now.groups = {group};
  terms::ModelEntry model;
  model.info.handle = 0x100000000;
  model.info.name = "resnet";
  model.info.phase = terms::ModelPhase::kStarted;
  now.models = {model};
  terms::SessionInfo session;
  session.id = terms::SessionId{3};
  session.client = "bench";
  now.sessions = {session};
  return now;
}

Activity half_busy() {
  Activity activity;
  activity.interval_s = 1;
  activity.group_utilisation[1] = 0.5;
  activity.device_utilisation[0] = 0.25;
  activity.models[0x100000000] = {1234, 0};
  activity.all = {1234, 0};
  return activity;
}

std::string frame_text(const Snapshot& now, std::size_t width, std::size_t height) {
  std::string text;
  for (const FrameLine& line :
       draw_frame("unix:/run/sluice.sock", now, half_busy(), width, height)) {
    EXPECT_LE(width_of(line.text), width) << line.text;
    text += line.text + "\n";
  }
  return text;
}

TEST(TopFrame, ShowsEverythingWhereThereIsRoom) {
  const std::string text = frame_text(example(), 140, 40);
  EXPECT_THAT(text, HasSubstr("sluiced 0.1.0  ready  6 of 8 cores free  1,234 requests/s"));
  EXPECT_THAT(text, HasSubstr("unix:/run/sluice.sock"));
  EXPECT_THAT(text, HasSubstr("0  sim   0000:00:10.0  ▅▅··"));
  EXPECT_THAT(text, HasSubstr("  ····"));
  EXPECT_THAT(text, HasSubstr("device 0: 0-1"));
  EXPECT_THAT(text, HasSubstr("50 %"));
  EXPECT_THAT(text, HasSubstr("resnet  started"));
  EXPECT_THAT(text, HasSubstr("0x100000000"));
  EXPECT_THAT(text, HasSubstr("bench"));
}

TEST(TopFrame, NarrowTerminalKeepsTheImportantColumns) {
  for (std::size_t width = 20; width < 140; ++width) frame_text(example(), width, 40);
  const std::string text = frame_text(example(), 40, 40);
  EXPECT_THAT(text, HasSubstr("resnet"));
  EXPECT_THAT(text, HasSubstr("1,234"));
  EXPECT_THAT(text, HasSubstr("▅▅··"));
  EXPECT_THAT(text, Not(HasSubstr("0x100000000")));
  EXPECT_THAT(text, Not(HasSubstr("BUS ADDRESS")));
}

TEST(TopFrame, LowTerminalShortensTheLongestListsWithANote) {
  Snapshot now = example();
  for (std::uint64_t i = 0; i < 50; ++i) {
    terms::SessionInfo session;
    session.id = terms::SessionId{100 + i};
    now.sessions.push_back(session);
  }
  for (const std::size_t height : {24, 30, 60}) {
    const auto lines = draw_frame("", now, half_busy(), 100, height);
    EXPECT_LE(lines.size(), height);
  }
  const std::string text = frame_text(now, 100, 24);
  EXPECT_THAT(text, HasSubstr("more\n"));
  EXPECT_THAT(text, HasSubstr("resnet")) << "short lists stay";
  EXPECT_LE(draw_frame("", now, half_busy(), 100, 10).size(), 10U);
}

TEST(TopFrame, IdleDaemonGivesAShortFrame) {
  const auto lines = draw_frame("", {}, {}, 80, 24);
  EXPECT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].style, FrameLine::Style::kPlain);
}

TEST(TopFrame, FailedModelsAreMarked) {
  Snapshot now = example();
  now.models[0].info.phase = terms::ModelPhase::kFailed;
  now.health.is_ready = false;
  int num_bad = 0;
  for (const FrameLine& line : draw_frame("", now, half_busy(), 120, 40)) {
    num_bad += line.style == FrameLine::Style::kBad ? 1 : 0;
  }
  EXPECT_EQ(num_bad, 2);
}

TEST(TopFrame, DevicesShowWhatTheirSensorsTell) {
  Snapshot now = example();
  terms::Usage usage;
  usage.sensors = {.temperature_c = 71.4, .power_w = 84.6, .num_throttles = 2};
  usage.health.state = terms::HealthState::kDegraded;
  now.statistics.devices = {usage};
  const std::string text = frame_text(now, 160, 40);
  EXPECT_THAT(text, HasSubstr("71 °C, 85 W, slowed down 2 times  degraded"));
  EXPECT_THAT(text, ContainsRegex("-  +healthy")) << "device 1 tells nothing";
  EXPECT_EQ(describe_sensors(
                {.num_corrected_errors = 3, .num_uncorrected_errors = 1, .fault = "GPU is lost"}),
            "3 memory errors corrected, 1 not corrected, GPU is lost");
}

TEST(TopFrame, DeviceWithMemoryOfItsOwnShowsItsPools) {
  Snapshot now = example();
  terms::Usage usage;
  usage.pools = {
      .streams_in_use = 3, .streams_unused = 1, .reserved_bytes = 4096, .idle_bytes = 1024};
  now.statistics.devices = {usage};
  EXPECT_THAT(frame_text(now, 180, 40), HasSubstr("3 of 4   4 KiB, 1 KiB idle"));
  EXPECT_THAT(frame_text(now, 180, 40), Not(HasSubstr("WHAT TO DO")));
  now.statistics.devices[0].pools->left = {{"resnet", 512, 1}};
  EXPECT_THAT(frame_text(now, 180, 40),
              HasSubstr("Device 0: resnet, which is unloaded, left 512 B and 1 stream"));
}

TEST(TopFrame, TroublesSayWhatToDo) {
  Snapshot now = example();
  EXPECT_THAT(frame_text(now, 160, 40), Not(HasSubstr("WHAT TO DO")));
  terms::Usage hot;
  hot.health = {terms::HealthState::kFailed, "it is at 101 °C", "check fans and air"};
  now.statistics.devices = {hot};
  now.groups[0].info.worker = {terms::Isolation::kProcess, 77, 1, "ready",
                               "worker of group 1 died of signal 9; it is being restarted"};
  terms::ModelStatistics model;
  model.name = "resnet";
  model.answered = {{RuntimeCode::kOk, 2000}, {RuntimeCode::kTimeout, 3}};
  now.statistics.models = {model};
  const std::string text = frame_text(now, 200, 40);
  EXPECT_THAT(text, HasSubstr("Device 0: it is at 101 °C"));
  EXPECT_THAT(text, HasSubstr("  check fans and air\n"));
  EXPECT_THAT(text, HasSubstr("77, 1 restart  "));
  EXPECT_THAT(text, HasSubstr("The worker of group 1 died of signal 9  "));
  EXPECT_THAT(text, HasSubstr("  Process 77 has taken its place.\n"));
  EXPECT_THAT(text, HasSubstr("resnet: 3 of 2,003 answers: timeout"));
  for (std::size_t width = 20; width < 60; ++width) frame_text(now, width, 12);
}

TEST(TopFrame, WorkersThatAreNotReadySayWhatComesNext) {
  Snapshot now = example();
  terms::WorkerInfo& worker = now.groups[0].info.worker;
  worker = {terms::Isolation::kProcess, -1, 2, "restarting",
            "worker of group 1 died of signal 9; it is being restarted, try again"};
  EXPECT_THAT(frame_text(now, 200, 40), HasSubstr("  It is being restarted, try again.\n"));
  worker.state = "silent";
  worker.reason = "worker of group 1 has not answered for 3 s";
  std::string text = frame_text(now, 200, 40);
  EXPECT_THAT(text, HasSubstr("The worker of group 1 has not answered for 3 s  It is silent.\n"));
  worker.state = "failed";
  worker.reason = "no such program";
  text = frame_text(now, 200, 40);
  EXPECT_THAT(text, HasSubstr("The worker of group 1: no such program  It is failed.\n"));
}

TEST(TopFrame, IllModelsAndFunctionsSayTheirState) {
  Snapshot now = example();
  now.health.models = {{0x100000000, "resnet", {terms::HealthState::kDegraded, "", ""}}};
  EXPECT_THAT(frame_text(now, 160, 40), HasSubstr("resnet  degraded"));
  now.health.models.clear();
  now.models[0].function.emplace().phase = terms::FunctionPhase::kCold;
  EXPECT_THAT(frame_text(now, 160, 40), HasSubstr("resnet  cold"));
}

TEST(TopFrame, ManyCoresShareBars) {
  Snapshot now = example();
  now.server.devices = {device_of(0, 100)};
  const std::string text = frame_text(now, 120, 40);
  EXPECT_THAT(text, HasSubstr("▅························"));
}

TEST(TopFrame, ClientNamesCannotControlTheTerminal) {
  Snapshot now = example();
  now.sessions[0].client = "\x1b[2Jevil\n\xc2\x9b";
  const std::string text = frame_text(now, 140, 40);
  EXPECT_THAT(text, HasSubstr("?[2Jevil??"));
  EXPECT_EQ(text.find('\x1b'), text.npos);
  EXPECT_EQ(printable("ä 漢 \x7f"), "ä 漢 ?");
  EXPECT_THAT(text_table({{"NAME"}, {"\x1b]0;x\a"}}), HasSubstr("?]0;x?"));
}

TEST(TopTable, ColumnsGoByImportanceAndTheLastIsCut) {
  const std::vector<TopColumn> columns = {{"NAME", 9}, {"A", 1, true}, {"B", 2}};
  const std::vector<TopRow> rows = {{{"länge", "10", "x"}, false}, {{"b", "5", "yy"}, false}};
  EXPECT_THAT(draw_table(columns, rows, 80),
              ElementsAre("NAME    A  B", "länge  10  x", "b       5  yy"));
  EXPECT_THAT(draw_table(columns, rows, 10), ElementsAre("NAME   B", "länge  x", "b      yy"));
  EXPECT_THAT(draw_table(columns, rows, 6), ElementsAre("NAME", "länge", "b"));
  EXPECT_THAT(draw_table(columns, rows, 4), ElementsAre("NAME", "län…", "b"));
}

}  // namespace
}  // namespace sluice::tool
