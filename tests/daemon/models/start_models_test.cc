// Models that are there when the daemon has started.
#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>

#include "daemon/on_processors.h"

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StartModels : public OnProcessors {
 protected:
  std::unique_ptr<RunningDaemon> start_with(const std::vector<std::string>& flags) {
    return start("a", 0, 64 * kMiB, flags);
  }
  static std::vector<std::string> names(rpc::client::Client& client) {
    std::vector<std::string> names;
    for (const auto& model : client.list_models().value()) names.push_back(model.info.name);
    return names;
  }

  const std::vector<std::string> keep_ = {"--state-file", (folder_ / "state.json").string()};
};

TEST_F(StartModels, ConfiguredModelsServeAndABrokenOneIsLogged) {
  const auto daemon = start_with({"--models", small_, "--models", "/no/such.sluice"});
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  const auto models = client->list_models().value();
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models[0].info.name, "small");
  EXPECT_THAT(infer(*client, models[0].info.handle, 2).value(), ElementsAre(3, 0, 5, 0));
  EXPECT_THAT(daemon->output(), HasSubstr("model.not_loaded path=\"/no/such.sluice\""));
}

TEST_F(StartModels, ModelsLoadedByPathComeBackAfterAKill) {
  const std::string other = write_model(folder_, "other", {1}, "cpu");
  auto daemon = start_with(keep_);
  ASSERT_NE(daemon, nullptr);
  auto client = daemon->client();
  terms::LoadOptions options;
  options.name = "named";
  options.depth = 3;
  options.queue_limit = 5;
  ASSERT_TRUE(client->load(options, small_).is_ok());
  const auto unloaded = client->load({}, other);
  ASSERT_TRUE(unloaded.is_ok());
  ASSERT_TRUE(client->load({}, other).is_ok());
  ASSERT_TRUE(client->unload(unloaded->info.handle).is_ok());
  ASSERT_TRUE(daemon->client("session")->load({}, small_).is_ok()) << "which is not kept";
  EXPECT_EQ(daemon->end(SIGKILL), -SIGKILL);

  daemon = start_with(keep_);
  ASSERT_NE(daemon, nullptr);
  client = daemon->client();
  EXPECT_THAT(names(*client), ElementsAre("named", "other"));
  const auto model = client->list_models()->front();
  EXPECT_EQ(model.info.depth, 3);
  EXPECT_EQ(model.info.queue_limit, 5);
  EXPECT_THAT(infer(*client, model.info.handle, 2).value(), ElementsAre(3, 0, 5, 0));
  ASSERT_TRUE(client->unload(model.info.handle).is_ok());
  EXPECT_EQ(daemon->end(SIGTERM), 0);

  daemon = start_with(keep_);
  ASSERT_NE(daemon, nullptr);
  EXPECT_THAT(names(*daemon->client()), ElementsAre("other")) << "a clean stop keeps the models";
}

TEST_F(StartModels, MissingPackageIsLoggedAndKept) {
  const std::string gone = write_model(folder_, "gone", {1}, "cpu");
  auto daemon = start_with(keep_);
  ASSERT_NE(daemon, nullptr);
  ASSERT_TRUE(daemon->client()->load({}, gone).is_ok());
  EXPECT_EQ(daemon->end(SIGTERM), 0);
  std::filesystem::rename(gone, gone + ".away");
  daemon = start_with(keep_);
  ASSERT_NE(daemon, nullptr);
  EXPECT_THAT(names(*daemon->client()), IsEmpty());
  EXPECT_THAT(daemon->output(), HasSubstr("model.not_restored"));
  EXPECT_EQ(daemon->end(SIGTERM), 0);
  std::filesystem::rename(gone + ".away", gone);
  daemon = start_with(keep_);
  ASSERT_NE(daemon, nullptr);
  EXPECT_THAT(names(*daemon->client()), ElementsAre("gone"));
}

TEST_F(StartModels, DamagedStateFileStopsTheStartAndStays) {
  std::ofstream(folder_ / "state.json") << "{";
  const auto daemon =
      RunningDaemon::start(folder_, {.flags = {keep_[0], keep_[1]}, .name = "damaged"});
  ASSERT_FALSE(daemon.is_ok());
  EXPECT_THAT(daemon.status().message(), HasSubstr("state.json"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "state.json"));
}

}  // namespace
}  // namespace sluice::testing
