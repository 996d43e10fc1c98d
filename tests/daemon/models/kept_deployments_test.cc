// Functions, graphs and uploads that are there again when the daemon has started again.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "daemon/add_relu.h"
#include "daemon/running_daemon.h"
#include "terms/runtime_code.h"

namespace sluice::testing {
namespace {

namespace fs = std::filesystem;

using terms::GraphEdge;
using terms::GraphPort;
using terms::ModelHandle;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class KeptDeployments : public ::testing::Test {
 protected:
  std::unique_ptr<RunningDaemon> start_again() {
    auto daemon = RunningDaemon::start(
        folder_,
        {.flags = {"--state-file", state_.string(), "--model-folders", folder_.path().string()}});
    EXPECT_TRUE(daemon.is_ok()) << daemon.status().to_string();
    return daemon.is_ok() ? std::move(*daemon) : nullptr;
  }
  static terms::LoadOptions named(const std::string& name) {
    terms::LoadOptions options;
    options.name = name;
    return options;
  }
  static terms::LoadOptions function(const std::string& name) {
    terms::LoadOptions options = named(name);
    options.function = terms::FunctionOptions();
    options.function->share = 3;
    options.function->priority = 1;
    return options;
  }
  static terms::GraphRequest chain(std::uint64_t a, std::uint64_t b) {
    terms::GraphRequest graph;
    graph.name = "chain";
    graph.nodes = {{"a", ModelHandle{a}}, {"b", ModelHandle{b}}};
    graph.edges = {GraphEdge::parse("a.y=b.x").value()};
    return graph;
  }
  static std::vector<std::string> names(rpc::client::Client& client) {
    std::vector<std::string> names;
    for (const auto& model : client.list_models().value()) names.push_back(model.info.name);
    return names;
  }
  static terms::ModelEntry find(rpc::client::Client& client, const std::string& name) {
    const auto models = client.list_models();
    for (const terms::ModelEntry& model : *models) {
      if (model.info.name == name) return model;
    }
    ADD_FAILURE() << name << " is not there";
    return {};
  }
  std::size_t num_packages() const {
    std::error_code none;
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(packages_, none), fs::directory_iterator()));
  }
  std::string state() const {
    std::ifstream file(state_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempDir folder_;
  const std::string small_ = write_model(folder_, "small", {1});
  fs::path state_ = folder_ / "state.json";
  const fs::path packages_ = folder_ / "state.json.packages";
};

TEST_F(KeptDeployments, FunctionsGraphsAndUploadsComeBackAfterAKill) {
  auto daemon = start_again();
  ASSERT_NE(daemon, nullptr);
  auto client = daemon->client();
  const auto by_path = client->load(function("by-path"), small_);
  ASSERT_TRUE(by_path.is_ok()) << by_path.status().to_string();
  terms::LoadOptions in_a_cell = function("uploaded");
  in_a_cell.isolation = terms::Isolation::kProcess;
  const auto uploaded = client->upload(in_a_cell, small_);
  ASSERT_TRUE(uploaded.is_ok()) << uploaded.status().to_string();
  ASSERT_TRUE(client->upload(named("model"), small_).is_ok());
  const auto graph = client->deploy_graph(chain(by_path->info.handle, uploaded->info.handle));
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  const auto session = daemon->client("session");
  ASSERT_TRUE(session->upload(function("session's"), small_).is_ok());
  EXPECT_EQ(num_packages(), 1U) << "equal packages share a file, and a session's is not kept";

  for (const int signal : {SIGKILL, SIGTERM, SIGTERM}) {
    daemon->end(signal);
    daemon = start_again();
    ASSERT_NE(daemon, nullptr);
    client = daemon->client();
    EXPECT_THAT(names(*client), UnorderedElementsAre("by-path", "uploaded", "model", "chain"));
    const terms::ModelEntry again = find(*client, "uploaded");
    ASSERT_TRUE(again.function.has_value());
    EXPECT_EQ(again.function->options.share, 3);
    EXPECT_EQ(again.function->options.priority, 1);
    for (const char* name : {"by-path", "uploaded", "model"}) {
      const auto y = infer(*client, find(*client, name).info.handle, 2);
      ASSERT_TRUE(y.is_ok()) << name << ": " << y.status().to_string();
      EXPECT_THAT(*y, ElementsAre(3, 0, 5, 0)) << name;
    }
    std::vector<float> x(4, 2);
    const terms::NamedTensor input = {"a.x", {x.data(), 16, ir::ElementType::kF32, {4}}};
    const auto y = client->infer(find(*client, "chain").info.handle, {input});
    ASSERT_TRUE(y.is_ok()) << y.status().to_string();
    const auto* last = static_cast<const float*>(y->outputs.front().view.data);
    EXPECT_THAT(std::vector<float>(last, last + 4), ElementsAre(4, 0, 8, 0));
  }
}

TEST_F(KeptDeployments, WhatIsRemovedStaysAwayAndLeavesNoFile) {
  auto daemon = start_again();
  ASSERT_NE(daemon, nullptr);
  auto client = daemon->client();
  const auto a = client->upload(function("a"), small_);
  const auto b = client->upload(function("b"), small_);
  ASSERT_TRUE(a.is_ok() && b.is_ok());
  const auto graph = client->deploy_graph(chain(a->info.handle, b->info.handle));
  ASSERT_TRUE(graph.is_ok()) << graph.status().to_string();
  daemon->end(SIGKILL);
  daemon = start_again();
  ASSERT_NE(daemon, nullptr);
  client = daemon->client();
  EXPECT_EQ(num_packages(), 1U);
  for (const char* name : {"chain", "a", "b"}) {
    const Status gone = client->unload(find(*client, name).info.handle);
    EXPECT_TRUE(gone.is_ok()) << gone.to_string();
  }
  EXPECT_EQ(num_packages(), 0U);
  daemon->end(SIGKILL);
  daemon = start_again();
  ASSERT_NE(daemon, nullptr);
  EXPECT_THAT(names(*daemon->client()), ElementsAre());
}

TEST_F(KeptDeployments, ListThatWasMovedAwayFindsItsPackagesAgain) {
  {
    auto daemon = start_again();
    ASSERT_NE(daemon, nullptr);
    ASSERT_TRUE(daemon->client()->upload(named("old"), small_).is_ok());
  }
  const fs::path aside = folder_ / "aside.json";
  fs::rename(state_, aside);
  {
    auto daemon = start_again();
    ASSERT_NE(daemon, nullptr);
    EXPECT_TRUE(names(*daemon->client()).empty());
    const std::string other = write_model(folder_, "other", {2});
    ASSERT_TRUE(daemon->client()->upload(named("new"), other).is_ok());
    EXPECT_EQ(num_packages(), 2U);
  }
  fs::rename(aside, state_);
  auto daemon = start_again();
  ASSERT_NE(daemon, nullptr);
  EXPECT_EQ(names(*daemon->client()), std::vector<std::string>{"old"});
  EXPECT_EQ(num_packages(), 1U) << "the list counts";
}

TEST_F(KeptDeployments, DamagedPackageStaysInTheFileWithItsError) {
  auto daemon = start_again();
  ASSERT_NE(daemon, nullptr);
  auto client = daemon->client();
  const auto broken = client->upload(function("broken"), small_);
  const auto sound = client->load(function("sound"), small_);
  ASSERT_TRUE(broken.is_ok() && sound.is_ok());
  ASSERT_TRUE(client->deploy_graph(chain(broken->info.handle, sound->info.handle)).is_ok());
  daemon->end(SIGTERM);
  const fs::path package = fs::directory_iterator(packages_)->path();
  fs::resize_file(package, 100);

  daemon = start_again();
  ASSERT_NE(daemon, nullptr);
  client = daemon->client();
  EXPECT_THAT(names(*client), ElementsAre("sound")) << "the others serve";
  EXPECT_THAT(state(), HasSubstr("\"error\": "));
  // The same name again takes its place, for the graph too.
  ASSERT_TRUE(client->upload(function("broken"), small_).is_ok());
  daemon->end(SIGTERM);
  daemon = start_again();
  ASSERT_NE(daemon, nullptr);
  EXPECT_THAT(names(*daemon->client()), UnorderedElementsAre("broken", "sound", "chain"));
  EXPECT_THAT(state(), Not(HasSubstr("\"error\": ")));
  EXPECT_EQ(num_packages(), 1U);
}

TEST_F(KeptDeployments, DeploymentThatCannotBeWrittenIsRefusedAndLeavesNothing) {
  const auto daemon = start_again();
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  fs::create_directory(state_);  // no file can take its place
  for (const auto& entry :
       {client->load(function("by-path"), small_), client->upload(named("model"), small_)}) {
    ASSERT_FALSE(entry.is_ok());
    EXPECT_EQ(terms::runtime_code_of(entry.status()), RuntimeCode::kOutOfResources);
    EXPECT_THAT(entry.status().message(), HasSubstr("state.json"));
  }
  EXPECT_THAT(names(*client), ElementsAre());
  EXPECT_EQ(num_packages(), 0U);
  fs::remove(state_);
  EXPECT_TRUE(client->load(function("by-path"), small_).is_ok());
}

TEST_F(KeptDeployments, FolderOfTheFileIsMadeAtTheStart) {
  state_ = folder_ / "lib/sluice/state.json";
  const auto daemon = start_again();
  ASSERT_NE(daemon, nullptr);
  const auto uploaded = daemon->client()->upload(named("model"), small_);
  ASSERT_TRUE(uploaded.is_ok()) << uploaded.status().to_string();
  EXPECT_THAT(state(), HasSubstr("\"model\""));
}

TEST_F(KeptDeployments, NobodyElseReadsTheFile) {
  const auto daemon = start_again();
  ASSERT_NE(daemon, nullptr);
  ASSERT_TRUE(daemon->client()->upload(function("f"), small_).is_ok());
  for (const fs::path& path : {state_, packages_}) {
    struct stat info = {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 077, 0U) << path;
  }
}

// A path may be longer than the texts that the daemon reads in its file.
TEST_F(KeptDeployments, FileThatTheNextStartCouldNotReadIsNotWritten) {
  auto daemon = start_again();
  ASSERT_NE(daemon, nullptr);
  std::string longer = folder_.path().string();
  for (int i = 0; i < 800; ++i) longer += "/.";
  const auto entry =
      daemon->client()->load({}, longer + "/" + fs::path(small_).filename().string());
  EXPECT_FALSE(entry.is_ok());
  daemon->end(SIGTERM);
  EXPECT_NE(start_again(), nullptr);
}

}  // namespace
}  // namespace sluice::testing
