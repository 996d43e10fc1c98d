// The waiting line of a model, over the daemon's socket.
#include <gmock/gmock.h>

#include <thread>

#include "daemon/on_processors.h"
#include "terms/runtime_code.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;

class WaitingLine : public OnProcessors {
 protected:
  /// Each client sends `count` requests, one at a time; the number that failed, of all clients.
  static int send(const RunningDaemon& daemon, std::uint64_t model, int num_clients, int count) {
    std::atomic<int> num_failed = 0;
    std::vector<std::thread> clients;
    for (int i = 0; i < num_clients; ++i) {
      clients.emplace_back([&, value = static_cast<float>(i)] {
        const auto client = daemon.client();
        for (int sent = 0; sent < count; ++sent) {
          const auto y = infer(*client, model, value);
          if (!y.is_ok() || y->at(0) != value + 1) ++num_failed;
        }
      });
    }
    for (std::thread& client : clients) client.join();
    return num_failed;
  }
};

TEST_F(WaitingLine, FourClientsWithOneRequestEachInFlightAreNeverRefused) {
  const auto daemon = start("a");
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  const auto model = client->load({}, small_);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  EXPECT_EQ(model->info.queue_limit, 64 * model->info.depth);
  EXPECT_EQ(send(*daemon, model->info.handle, 4, 2000), 0) << "of 8,000";
  const auto statistics = client->statistics(model->info.handle);
  ASSERT_TRUE(statistics.is_ok()) << statistics.status().to_string();
  ASSERT_EQ(statistics->size(), 1U);
  EXPECT_EQ(statistics->at(0).accepted, 8000);
  EXPECT_EQ(statistics->at(0).refused, 0);
  EXPECT_EQ(statistics->at(0).waiting, 0);
}

TEST_F(WaitingLine, WorkerQueuesTheRequestsOfManyClients) {
  const auto daemon = start("a");
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  terms::LoadOptions options;
  options.isolation = terms::Isolation::kProcess;
  const auto model = client->load(options, small_);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  EXPECT_EQ(model->info.queue_limit, 64 * model->info.depth);
  EXPECT_EQ(send(*daemon, model->info.handle, 4, 250), 0) << "of 1,000";
}

/// With a queue limit of 0, clients are refused as soon as every context is taken.
class QueueLimit : public WaitingLine, public ::testing::WithParamInterface<terms::Isolation> {};

INSTANTIATE_TEST_SUITE_P(Isolations, QueueLimit,
                         ::testing::Values(terms::Isolation::kStream, terms::Isolation::kProcess),
                         [](const auto& isolation) {
                           return std::string(
                               isolation.param == terms::Isolation::kStream ? "Stream" : "Process");
                         });

TEST_P(QueueLimit, LimitOfTheLoadReachesTheModel) {
  const auto daemon = start("a");
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  terms::LoadOptions options;
  options.isolation = GetParam();
  options.depth = 1;
  options.queue_limit = 3;
  const auto model = client->load(options, small_);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  EXPECT_EQ(model->info.depth, 1);
  EXPECT_EQ(model->info.queue_limit, 3);
  options.queue_limit = 65'537;
  const auto refused = client->load(options, small_).status();
  EXPECT_EQ(terms::runtime_code_of(refused), RuntimeCode::kInvalid);
  EXPECT_THAT(refused.message(), HasSubstr("queue_limit"));
}

}  // namespace
}  // namespace sluice::testing
