// Functions in cells: processes that a fault ends without the others' notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "daemon/add_relu.h"
#include "daemon/running_daemon.h"
#include "exec/testing/exec_testing.h"
#include "package/package.h"
#include "support/eventually.h"
#include "support/process.h"
#include "terms/runtime_code.h"

namespace sluice {
namespace {

using sluice::testing::eventually;
using sluice::testing::infer;
using sluice::testing::MemoryLimit;
using sluice::testing::pause_for;
using sluice::testing::RunningDaemon;
using sluice::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CellsTest : public ::testing::Test {
 protected:
  CellsTest() {
    restart(sluice::testing::kChain);
    package_ = sluice::testing::write_model(folder_, "f", {1}, "sim");
  }

  /// A daemon with two cells on this machine.
  void restart(const std::string& machine, const std::string& silence_s = "600") {
    daemon_ = nullptr;
    auto daemon = RunningDaemon::start(
        folder_, {.sim = machine,
                  // Workers of this user: MemoryLimit may limit them.
                  .flags = {"--function-cells", "2", "--worker-restarts", "1000", "--worker-user",
                            "", "--worker-silence", silence_s}});
    ASSERT_TRUE(daemon.is_ok()) << daemon.status().to_string();
    daemon_ = std::move(*daemon);
  }
  terms::ModelEntry deploy(rpc::client::Client& client, bool is_in_cell,
                           const terms::FunctionOptions& options = {}) {
    terms::LoadOptions load;
    load.function = options;
    if (is_in_cell) load.isolation = terms::Isolation::kProcess;
    auto entry = client.upload(load, options.batch_rows > 0 ? joining_package() : package_);
    EXPECT_TRUE(entry.is_ok()) << entry.status().to_string();
    return entry.is_ok() ? *entry : terms::ModelEntry();
  }
  /// y = relu(x + 1) of each row by itself.
  std::string joining_package() const {
    const std::string path = (folder_ / "joining.sluice").string();
    const auto executable = exec::testing::executable_of(R"(
subgraph @0 "main" {
  input %x : f32[4]
  const %one : f32[1] = [1]
  [%sum : f32[4]] = Add.13[%x, %one]
  [%y : f32[4]] = Relu.13[%sum]
  output [%y]
}
)",
                                                         "sim");
    EXPECT_TRUE(package::write_package(executable, path).is_ok());
    return path;
  }
  /// y = as many ones as `shape` says.
  std::string growing_package() const {
    const std::string path = (folder_ / "growing.sluice").string();
    const auto executable = exec::testing::executable_of(R"(
subgraph @0 "main" {
  input %shape : i64[1]
  const %one : f32[1] = [1.0]
  [%y : f32[?]] = Expand.13[%one, %shape]
  output [%y]
}
)",
                                                         "sim");
    EXPECT_TRUE(package::write_package(executable, path).is_ok());
    return path;
  }
  static terms::WorkerInfo worker_of(rpc::client::Client& client, terms::CoreGroupId group) {
    const auto groups = client.list_groups();
    for (const terms::GroupEntry& one : *groups) {
      if (one.info.id == group) return one.info.worker;
    }
    return {};
  }
  /// Returns when the next process is ready.
  static void kill_cell(rpc::client::Client& client, terms::CoreGroupId group) {
    const std::int64_t process = worker_of(client, group).process;
    ASSERT_GT(process, 0);
    ASSERT_EQ(kill(static_cast<pid_t>(process), SIGKILL), 0);
    EXPECT_TRUE(eventually([&] {
      const terms::WorkerInfo now = worker_of(client, group);
      return now.state == "ready" && now.process != process;
    }));
  }

  TempDir folder_;
  std::unique_ptr<RunningDaemon> daemon_;
  std::string package_;
};

TEST_F(CellsTest, RunThatGrowsBeyondTheQuotaEndsAndItsCellServesOn) {
  const auto client = daemon_->client();
  for (const terms::Isolation isolation : {terms::Isolation::kStream, terms::Isolation::kProcess}) {
    terms::LoadOptions load;
    load.isolation = isolation;
    load.function.emplace().memory_bytes = 1 << 20;
    const auto entry = client->upload(load, growing_package());
    ASSERT_TRUE(entry.is_ok()) << entry.status().to_string();
    const auto ask_for = [&](std::int64_t count) {
      return client->infer(entry->info.handle,
                           {{"shape", {&count, 8, ir::ElementType::kI64, {1}}}});
    };
    const auto refused = ask_for(std::int64_t{1} << 20);
    EXPECT_EQ(terms::runtime_code_of(refused.status()), RuntimeCode::kOutOfResources);
    EXPECT_THAT(refused.status().message(), HasSubstr("quota of 1048576 bytes"));
    const auto next = ask_for(1000);
    EXPECT_TRUE(next.is_ok()) << next.status().to_string();
    EXPECT_EQ(worker_of(*client, entry->info.group).num_restarts, 0);
  }
}

TEST_F(CellsTest, FaultOfACellLeavesTheOthersAloneAndItsFunctionsComeBack) {
  const auto client = daemon_->client();
  const auto first = deploy(*client, true);
  const auto second = deploy(*client, true);
  const auto third = deploy(*client, true);
  const auto here = deploy(*client, false);
  EXPECT_NE(first.info.group, second.info.group) << "a cell each, while there are fewer than two";
  EXPECT_EQ(worker_of(*client, here.info.group).isolation, terms::Isolation::kStream);
  for (int i = 0; i < 5; ++i) {
    const std::int64_t other = worker_of(*client, second.info.group).process;
    kill_cell(*client, first.info.group);
    EXPECT_EQ(worker_of(*client, second.info.group).process, other);
    for (const auto& function : {first, second, third, here}) {
      const auto y = infer(*client, function.info.handle, 2);
      ASSERT_TRUE(y.is_ok()) << y.status().to_string();
      EXPECT_THAT(*y, ElementsAre(3, 0, 5, 0));
    }
  }
}

TEST_F(CellsTest, ColdFunctionOfACellStartsAgainFromTheFileThatWasDeployed) {
  const auto client = daemon_->client();
  const auto entry = deploy(*client, true);
  std::filesystem::remove(package_);
  ASSERT_TRUE(client->stop(entry.info.handle).is_ok());
  EXPECT_EQ(client->list_models(entry.info.handle)->front().function->phase,
            terms::FunctionPhase::kCold);
  kill_cell(*client, entry.info.group);
  EXPECT_THAT(infer(*client, entry.info.handle, 2).value(), ElementsAre(3, 0, 5, 0));
}

TEST_F(CellsTest, RemovalOfTheLastFunctionEndsTheProcessAndFreesItsCore) {
  const auto client = daemon_->client();
  const std::int32_t free_cores = client->server()->num_free_cores;
  const auto entry = deploy(*client, true);
  const auto process = static_cast<pid_t>(worker_of(*client, entry.info.group).process);
  EXPECT_EQ(client->server()->num_free_cores, free_cores - 1);
  ASSERT_TRUE(client->unload(entry.info.handle).is_ok());
  EXPECT_EQ(client->server()->num_free_cores, free_cores);
  EXPECT_TRUE(eventually([&] { return kill(process, 0) != 0; }));
  EXPECT_TRUE(client->list_models()->empty());
}

/// Four functions of one cell take turns while it is killed again and again: in a load, a change of
/// the active function, a run or between them. Each client asks until it is answered.
TEST_F(CellsTest, EveryFunctionOfAKilledCellAnswersAgain) {
  constexpr int kKills = 12;
  const auto client = daemon_->client();
  std::vector<std::uint64_t> functions;
  for (const bool joins : {false, false, true, true}) {
    terms::FunctionOptions options;
    options.batch_rows = joins ? 4 : 0;
    for (int cell = 0; cell < 2; ++cell) {
      functions.push_back(deploy(*client, true, options).info.handle);
    }
  }
  std::array<std::atomic<std::int64_t>, 8> answers = {};
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> askers;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    askers.emplace_back([&, i] {
      const auto own = daemon_->client();
      while (!is_over) {
        const auto y = infer(*own, functions[i], 2);
        if (!y.is_ok()) continue;  // of the turn that the kill met
        EXPECT_EQ(*y, i < 4 ? std::vector<float>({3, 0, 5, 0}) : std::vector<float>(4, 3));
        ++answers[i];
      }
    });
  }
  for (int i = 0; i < kKills && !HasFailure(); ++i) {
    pause_for(std::chrono::microseconds(1500 * (i % 11)));
    kill_cell(*client, client->list_models(functions[i % 2])->front().info.group);
    for (std::size_t k = 0; k < functions.size(); ++k) {
      const std::int64_t before = answers[k];
      EXPECT_TRUE(eventually([&] { return answers[k] > before + 1; }, std::chrono::seconds(60)))
          << "function " << k << " after kill " << i;
    }
  }
  is_over = true;
}

TEST_F(CellsTest, StoppedCellIsSilentUntilItGoesOn) {
  const auto client = daemon_->client();
  const auto entry = deploy(*client, true);
  const auto process = static_cast<pid_t>(worker_of(*client, entry.info.group).process);
  ASSERT_TRUE(sluice::testing::suspend(process));
  const auto becomes = [&](const std::string& state, terms::HealthState health) {
    return eventually([&] {
      return worker_of(*client, entry.info.group).state == state &&
             client->health()->models.front().health.state == health;
    });
  };
  EXPECT_TRUE(becomes("silent", terms::HealthState::kDegraded));
  EXPECT_THAT(worker_of(*client, entry.info.group).reason, HasSubstr("has not answered for"));
  ASSERT_EQ(kill(process, SIGCONT), 0);
  EXPECT_TRUE(becomes("ready", terms::HealthState::kHealthy));
  EXPECT_EQ(worker_of(*client, entry.info.group).process, process);
}

TEST_F(CellsTest, StoppedCellIsReplaced) {
  restart(sluice::testing::kChain, "1");
  const auto client = daemon_->client();
  const auto first = deploy(*client, true);
  const auto second = deploy(*client, true);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(infer(*client, first.info.handle, 2).is_ok());  // it is the active one from here on
    const std::int64_t stopped = worker_of(*client, first.info.group).process;
    ASSERT_TRUE(sluice::testing::suspend(static_cast<pid_t>(stopped)));
    const auto met = infer(*client, first.info.handle, 2);
    ASSERT_FALSE(met.is_ok());
    EXPECT_THAT(met.status().message(), HasSubstr("it did not answer for 1 s"));
    for (const auto& function : {first, second}) {
      const auto y = infer(*client, function.info.handle, 2);
      ASSERT_TRUE(y.is_ok()) << y.status().to_string();
    }
    EXPECT_NE(worker_of(*client, first.info.group).process, stopped);
  }
}

/// The bytes are written by one process and read by another; the client carries the index.
TEST_F(CellsTest, TensorPassesFromCellToCellThroughTheExchange) {
  const auto client = daemon_->client();
  const auto first = deploy(*client, true);
  const auto second = deploy(*client, true);
  ASSERT_NE(first.info.group, second.info.group);
  std::vector<float> x(4, 2);
  const auto kept =
      client->infer(first.info.handle, {{"x", {x.data(), 16, ir::ElementType::kF32, {4}}}},
                    {.kept_outputs = {"y"}});
  ASSERT_TRUE(kept.is_ok()) << kept.status().to_string();
  const std::uint64_t index = kept->outputs.at(0).exchange;
  kill_cell(*client, first.info.group);  // the tensor outlives the process that wrote it
  const auto answer = client->infer(second.info.handle, {{"x", {}, index}});
  ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
  const auto* data = static_cast<const float*>(answer->outputs.at(0).view.data);
  EXPECT_EQ(std::vector<float>(data, data + 4), std::vector<float>({4, 0, 8, 0}));
}

/// The first cell writes the tensor where the daemon reads it, and the second one computes with
/// the copy that the daemon makes: neither process has it twice.
TEST_F(CellsTest, TensorPassesFromCellToCellWithOneCopy) {
  constexpr std::int64_t kBytes = std::int64_t{64} << 20;
  restart(R"({"devices": [{"cores": 2, "own_memory": false}]})");
  const auto client = daemon_->client();
  const std::array graphs = {R"(subgraph @0 "main" {
input %x : f32[1]
const %size : i64[1] = [16777216]
[%y : f32[16777216]] = Expand.13[%x, %size]
output [%y]
}
)",
                             R"(subgraph @0 "main" {
input %x : f32[16777216]
[%y : f32[1]] = ReduceMax.13[%x] {axes = [0], keepdims = 1}
output [%y]
}
)"};
  std::vector<std::int64_t> processes;
  std::vector<std::uint64_t> handles;
  for (const char* graph : graphs) {
    package_ = (folder_ / "large.sluice").string();
    const Status written =
        package::write_package(exec::testing::executable_of(graph, "sim"), package_);
    ASSERT_TRUE(written.is_ok()) << written.to_string();
    const auto entry = deploy(*client, true);
    handles.push_back(entry.info.handle);
    processes.push_back(worker_of(*client, entry.info.group).process);
  }
  ASSERT_NE(processes[0], processes[1]);
  // Both have the tensor once, in memory that they share with the daemon.
  const MemoryLimit first(static_cast<pid_t>(processes[0]), kBytes / 2);
  const MemoryLimit second(static_cast<pid_t>(processes[1]), kBytes / 2);
  float x = 3;
  const auto kept = client->infer(handles[0], {{"x", {&x, sizeof(x), ir::ElementType::kF32, {1}}}},
                                  {.kept_outputs = {"y"}});
  ASSERT_TRUE(kept.is_ok()) << kept.status().to_string();
  const auto answer = client->infer(handles[1], {{"x", {}, kept->outputs.at(0).exchange}});
  ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
  EXPECT_EQ(*static_cast<const float*>(answer->outputs.at(0).view.data), 3);
}

}  // namespace
}  // namespace sluice
