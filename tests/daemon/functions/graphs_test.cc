// Graphs of functions through a sluiced of its own process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "daemon/add_relu.h"
#include "daemon/running_daemon.h"
#include "sandbox/exchange_table.h"
#include "support/eventually.h"
#include "terms/runtime_code.h"

namespace sluice {
namespace {

using sluice::testing::build_path;
using sluice::testing::eventually;
using sluice::testing::RunningDaemon;
using sluice::testing::TempDir;
using terms::GraphEdge;
using terms::GraphPort;
using terms::ModelHandle;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Functions compute relu(x + [1, -2, 3, -4]).
class GraphsTest : public ::testing::Test {
 protected:
  GraphsTest() {
    auto daemon = RunningDaemon::start(
        folder_, {.flags = {"--function-cells", "2", "--worker-restarts", "1000"}});
    EXPECT_TRUE(daemon.is_ok()) << daemon.status().to_string();
    if (daemon.is_ok()) daemon_ = std::move(*daemon);
    package_ = sluice::testing::write_model(folder_, "f", {1}, "sim");
  }

  std::uint64_t deploy(rpc::client::Client& client, bool is_in_cell = false) {
    terms::LoadOptions load;
    load.function = terms::FunctionOptions();
    if (is_in_cell) load.isolation = terms::Isolation::kProcess;
    const auto entry = client.upload(load, package_);
    EXPECT_TRUE(entry.is_ok()) << entry.status().to_string();
    return entry.is_ok() ? entry->info.handle : 0;
  }

  /// a.y feeds b and c, and is an output too.
  static terms::GraphRequest fork(const std::vector<std::uint64_t>& functions) {
    terms::GraphRequest graph;
    graph.name = "fork";
    graph.nodes = {{"a", ModelHandle{functions[0]}},
                   {"b", ModelHandle{functions[1]}},
                   {"c", ModelHandle{functions[2]}}};
    graph.edges = {GraphEdge::parse("a.y=b.x").value(), GraphEdge::parse("a.y=c.x").value()};
    graph.outputs = {GraphPort::parse("a.y").value()};
    return graph;
  }

  static std::vector<float> floats(const terms::TensorView& view) {
    const auto* data = static_cast<const float*>(view.data);
    return {data, data + view.size_bytes / 4};
  }

  /// Kills the process of one of them, if it has one now.
  static void kill_a_cell(rpc::client::Client& client, int number) {
    std::vector<std::int64_t> cells;
    const auto groups = client.list_groups();
    for (const terms::GroupEntry& group : *groups) {
      if (group.info.worker.process > 0) cells.push_back(group.info.worker.process);
    }
    if (cells.empty()) return;
    kill(static_cast<pid_t>(cells[static_cast<std::size_t>(number) % cells.size()]), SIGKILL);
  }

  terms::NamedTensor input() { return {"a.x", {x_.data(), 16, ir::ElementType::kF32, {4}}}; }

  TempDir folder_;
  std::unique_ptr<RunningDaemon> daemon_;
  std::string package_;
  std::vector<float> x_ = std::vector<float>(4, 2);
};

TEST_F(GraphsTest, GraphAnswersAsAModelAcrossLanesAndCells) {
  const auto client = daemon_->client("owner");
  const std::vector<std::uint64_t> functions = {deploy(*client), deploy(*client, true),
                                                deploy(*client, true)};
  const auto graph = client->deploy_graph(fork(functions));
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  ASSERT_TRUE(graph->graph.has_value());
  EXPECT_EQ(graph->graph->nodes.size(), 3U);
  const auto answer = client->infer(graph->info.handle, {input()});
  ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
  ASSERT_EQ(answer->outputs.size(), 3U);
  EXPECT_EQ(answer->outputs[0].name, "a.y");
  EXPECT_THAT(floats(answer->outputs[0].view), ElementsAre(3, 0, 5, 0));
  EXPECT_EQ(answer->outputs[1].name, "b.y");
  EXPECT_THAT(floats(answer->outputs[1].view), ElementsAre(4, 0, 8, 0));
  EXPECT_THAT(floats(answer->outputs[2].view), ElementsAre(4, 0, 8, 0));

  // Its outputs stay in the exchange, and are its inputs, as those of every model.
  const auto kept = client->infer(graph->info.handle, {input()}, {.kept_outputs = {"a.y"}});
  ASSERT_TRUE(kept.is_ok()) << kept.status().to_string();
  const auto again = client->infer(graph->info.handle, {{"a.x", {}, kept->outputs.at(0).exchange}});
  ASSERT_TRUE(again.is_ok()) << again.status().to_string();
  EXPECT_THAT(floats(again->outputs[0].view), ElementsAre(4, 0, 8, 0));
}

TEST_F(GraphsTest, FunctionOfAGraphIsNotRemovedBeforeIt) {
  const auto client = daemon_->client("owner");
  const std::vector<std::uint64_t> functions = {deploy(*client), deploy(*client), deploy(*client)};
  const auto graph = client->deploy_graph(fork(functions));
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_EQ(client->list_models()->size(), 4U);
  const Status refused = client->unload(functions[1]);
  EXPECT_EQ(terms::runtime_code_of(refused), RuntimeCode::kFailed);
  EXPECT_THAT(refused.message(), HasSubstr("graph fork"));
  ASSERT_TRUE(client->unload(graph->info.handle).is_ok());
  EXPECT_TRUE(client->unload(functions[1]).is_ok());
  EXPECT_EQ(client->list_models()->size(), 2U);
}

TEST_F(GraphsTest, GraphBelongsToItsSessionAndEndsWithIt) {
  auto owner = daemon_->client("owner");
  const auto other = daemon_->client("other");
  const std::vector<std::uint64_t> functions = {deploy(*owner), deploy(*owner), deploy(*owner)};
  EXPECT_EQ(other->deploy_graph(fork(functions)).status().code(), Code::kPermissionDenied)
      << "functions of another session";
  const auto graph = owner->deploy_graph(fork(functions));
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_EQ(other->infer(graph->info.handle, {input()}).status().code(), Code::kPermissionDenied);
  owner = nullptr;
  EXPECT_TRUE(eventually([&] { return other->list_models()->empty(); }));
}

/// Until the exchange takes no more; how many it took. None leaves by time.
std::int64_t fill_exchange(rpc::client::Client& client) {
  constexpr std::int64_t kHourNs = 3'600'000'000'000;
  std::vector<float> x(4, 2);
  const terms::TensorView view = {x.data(), 16, ir::ElementType::kF32, {4}};
  std::int64_t count = 0;
  while (client.put_tensor(view, kHourNs).is_ok()) ++count;
  return count;
}

TEST_F(GraphsTest, TensorsBetweenFunctionsNeedRoomInTheExchange) {
  const auto client = daemon_->client("owner");
  const std::vector<std::uint64_t> functions = {deploy(*client), deploy(*client), deploy(*client)};
  const auto graph = client->deploy_graph(fork(functions));
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  EXPECT_EQ(fill_exchange(*client), sandbox::ExchangeLimits().max_tensors);
  const auto refused = client->infer(graph->info.handle, {input()});
  EXPECT_EQ(terms::runtime_code_of(refused.status()), RuntimeCode::kOutOfResources);
  EXPECT_THAT(refused.status().message(), HasSubstr("graph fork, function a: the exchange holds"));
  ASSERT_TRUE(client->remove_tensor(1).is_ok());
  EXPECT_THAT(client->infer(graph->info.handle, {input()}).status().message(),
              HasSubstr("function b: the exchange holds"));
  ASSERT_TRUE(client->remove_tensor(2).is_ok());
  const auto answer =
      client->infer(graph->info.handle, {input()}, {.kept_outputs = {"a.y", "c.y"}});
  EXPECT_TRUE(answer.is_ok()) << "what it keeps takes the room: " << answer.status().to_string();
  EXPECT_EQ(fill_exchange(*client), 0);
}

/// Between and during the functions.
TEST_F(GraphsTest, DeathsOfACellLeaveNothingOfItsGraphs) {
  const auto client = daemon_->client("owner");
  const std::vector<std::uint64_t> functions = {deploy(*client), deploy(*client, true),
                                                deploy(*client, true)};
  const auto graph = client->deploy_graph(fork(functions));
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  std::atomic<bool> is_over = false;
  std::atomic<int> num_answered = 0;
  std::thread asking([&] {
    while (!is_over) {
      const auto answer = client->infer(graph->info.handle, {input()});
      if (answer.is_ok()) ++num_answered;
      EXPECT_TRUE(answer.is_ok() || answer.status().code() == Code::kUnavailable)
          << answer.status().to_string();
    }
  });
  const auto admin = daemon_->client();
  for (int i = 0; i < 10; ++i) {
    const int before = num_answered;
    EXPECT_TRUE(eventually([&] { return num_answered >= before + 1 + i; }));
    kill_a_cell(*admin, i);
  }
  const int before = num_answered;
  EXPECT_TRUE(eventually([&] { return num_answered >= before + 10; }));
  is_over = true;
  asking.join();
  // A request that failed lets go of its tensors after its answer.
  std::int64_t count = 0;
  EXPECT_TRUE(eventually([&] {
    count += fill_exchange(*client);
    return count >= sandbox::ExchangeLimits().max_tensors;
  }));
}

TEST_F(GraphsTest, DeathOfItsClientEndsTheRequestsOfAGraphAndTheGraph) {
  const auto admin = daemon_->client();
  for (int i = 0; i < 3; ++i) {
    sluice::testing::Program client(
        {build_path("test/daemon_graph_holder").string(), daemon_->address(), package_});
    ASSERT_EQ(client.read_line(), "asking");
    sluice::testing::pause_for(std::chrono::microseconds(i * 700));
    EXPECT_EQ(client.end(SIGKILL), -SIGKILL);
    EXPECT_TRUE(eventually(
        [&] { return admin->list_models()->empty() && admin->list_sessions()->empty(); }));
  }
}

TEST_F(GraphsTest, WhatDoesNotFitIsNamed) {
  const auto client = daemon_->client("owner");
  const std::vector<std::uint64_t> functions = {deploy(*client), deploy(*client), deploy(*client)};
  terms::GraphRequest circle = fork(functions);
  circle.edges.push_back(GraphEdge::parse("b.y=a.x").value());
  const Status refused = client->deploy_graph(circle).status();
  EXPECT_EQ(terms::runtime_code_of(refused), RuntimeCode::kInvalid);
  EXPECT_THAT(refused.message(), HasSubstr("circle"));
  const auto graph = client->deploy_graph(fork(functions));
  ASSERT_TRUE(graph.is_ok());
  std::vector<float> wrong(8, 2);
  const auto answer =
      client->infer(graph->info.handle, {{"a.x", {wrong.data(), 32, ir::ElementType::kF32, {8}}}});
  EXPECT_EQ(terms::runtime_code_of(answer.status()), RuntimeCode::kBadInput);
  EXPECT_THAT(answer.status().message(), HasSubstr("graph fork, function a"));
  EXPECT_EQ(client->infer(graph->info.handle, {input()}, {.timeout_ns = 1}).status().code(),
            Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace sluice
