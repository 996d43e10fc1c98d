// More models than the daemon has cores.
#include <gmock/gmock.h>

#include <thread>

#include "daemon/on_processors.h"
#include "support/eventually.h"
#include "terms/runtime_code.h"

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;

constexpr int kModels = 12;
constexpr int kRequests = 40;

class MoreModels : public OnProcessors {
 protected:
  std::vector<std::uint64_t> load_all(rpc::client::Client& client) const {
    std::vector<std::uint64_t> handles;
    for (int i = 0; i < kModels; ++i) {
      terms::LoadOptions options;
      options.name = fmt::format("model {}", i);
      options.weight = i + 1;
      const auto model = client.load(options, small_);
      EXPECT_TRUE(model.is_ok()) << model.status().to_string();
      if (model.is_ok()) handles.push_back(model->info.handle);
    }
    return handles;
  }
};

TEST_F(MoreModels, OnOneCoreAllAnswerTheirClients) {
  const auto daemon = start("a");
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  const auto handles = load_all(*client);
  ASSERT_EQ(handles.size(), static_cast<std::size_t>(kModels));
  std::vector<std::thread> threads;
  for (const std::uint64_t handle : handles) {
    threads.emplace_back([&, handle] {
      const auto own = daemon->client();
      for (int i = 0; i < kRequests; ++i) {
        const auto answer = infer(*own, handle, 2);
        ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
        ASSERT_THAT(*answer, ElementsAre(3, 0, 5, 0));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto groups = client->list_groups();
  ASSERT_EQ(groups->size(), 1U) << "the models share the core's group";
  EXPECT_EQ(groups->front().info.num_models, kModels);
  EXPECT_GE(groups->front().info.num_switches, kModels - 1);
  for (const std::uint64_t handle : handles) EXPECT_TRUE(client->unload(handle).is_ok());
  EXPECT_TRUE(client->list_groups()->empty());
  EXPECT_EQ(client->server()->num_free_cores, 1);
}

TEST_F(MoreModels, ModelsComeAndGoWhileOthersServe) {
  const auto daemon = start("a");
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  const auto stays = client->load({}, small_);
  ASSERT_TRUE(stays.is_ok()) << stays.status().to_string();
  std::atomic<bool> is_over = false;
  std::thread steady([&] {
    const auto own = daemon->client();
    while (!is_over) EXPECT_TRUE(infer(*own, stays->info.handle, 1).is_ok());
  });
  for (int i = 0; i < kModels; ++i) {
    const auto session = daemon->client(fmt::format("session {}", i));  // unloads at its end
    const auto model = session->load({}, small_);
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    EXPECT_EQ(model->info.group, stays->info.group);
    EXPECT_TRUE(session->stop(model->info.handle).is_ok());
    EXPECT_EQ(terms::runtime_code_of(infer(*session, model->info.handle, 1).status()),
              RuntimeCode::kFailed);
    EXPECT_TRUE(session->start(model->info.handle).is_ok());
    EXPECT_TRUE(infer(*session, model->info.handle, 1).is_ok());
  }
  is_over = true;
  steady.join();
}

TEST_F(MoreModels, FirstModelOfAGroupMayLeaveFirst) {
  const auto daemon = start("a");
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  auto first = daemon->client("first");
  ASSERT_TRUE(first->load({}, small_).is_ok());
  const auto second = client->load({}, small_);
  ASSERT_TRUE(second.is_ok()) << second.status().to_string();
  first.reset();
  EXPECT_TRUE(eventually([&] { return client->list_models()->size() <= 1; }));
  EXPECT_THAT(infer(*client, second->info.handle, 2).value(), ElementsAre(3, 0, 5, 0));
  EXPECT_TRUE(client->unload(second->info.handle).is_ok());
  EXPECT_EQ(client->server()->num_free_cores, 1);
}

TEST_F(MoreModels, EqualUploadsShareOneCopy) {
  const auto daemon = start("a");
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  const auto first = client->upload({}, small_);
  ASSERT_TRUE(first.is_ok()) << first.status().to_string();
  const auto second = daemon->client("other")->upload({}, small_);
  ASSERT_TRUE(second.is_ok()) << second.status().to_string();
  EXPECT_FALSE(first->info.shares_package);
  EXPECT_TRUE(second->info.shares_package);
  const auto third = client->upload({}, small_);
  ASSERT_TRUE(client->unload(first->info.handle).is_ok());
  EXPECT_THAT(infer(*client, third->info.handle, 2).value(), ElementsAre(3, 0, 5, 0));
}

TEST_F(MoreModels, ExclusiveCoresRefuseTheSecondModel) {
  const auto daemon = start("a", 0, 64 * kMiB, {"--exclusive-cores"});
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  ASSERT_TRUE(client->load({}, small_).is_ok());
  EXPECT_EQ(terms::runtime_code_of(client->load({}, small_).status()),
            RuntimeCode::kNotEnoughCores);
}

TEST_F(MoreModels, WeightOutOfRangeIsRefused) {
  const auto daemon = start("a");
  ASSERT_NE(daemon, nullptr);
  terms::LoadOptions options;
  for (const int weight : {-1, 1001}) {
    options.weight = weight;
    EXPECT_EQ(terms::runtime_code_of(daemon->client()->load(options, small_).status()),
              RuntimeCode::kInvalid);
  }
}

}  // namespace
}  // namespace sluice::testing
