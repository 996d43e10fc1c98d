// Tensors that one daemon fetches from another one, as between two hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>

#include "daemon/running_daemon.h"
#include "support/eventually.h"
#include "support/process.h"
#include "terms/runtime_code.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;

class ExchangeHostsTest : public ::testing::Test {
 protected:
  ExchangeHostsTest() {
    std::ofstream(folder_ / "tokens") << "knock inference guest\nother inference stranger\n";
    giver_ = start("giver", "0",
                   {"--exchange-listen", "127.0.0.1:0", "--exchange-plain", "--exchange-peers",
                    "token:guest", "--token-file", (folder_ / "tokens").string()});
    address_ = exchange_address(*giver_);
    std::ofstream(folder_ / "own") << "knock\n";
    taker_ = start_taker("taker", "1", (folder_ / "own").string());
  }

  std::unique_ptr<RunningDaemon> start(const std::string& name, const std::string& device,
                                       std::vector<std::string> flags) {
    DaemonSetup setup;
    setup.name = name;
    setup.flags = {"-t", device};
    setup.flags.insert(setup.flags.end(), flags.begin(), flags.end());
    auto daemon = RunningDaemon::start(folder_, setup);
    EXPECT_TRUE(daemon.is_ok()) << daemon.status().to_string();
    return std::move(*daemon);
  }

  std::unique_ptr<RunningDaemon> start_taker(const std::string& name, const std::string& device,
                                             const std::string& token_file) {
    // A fetch that only its idle limit ends, or a drain, is a hang.
    return start(name, device,
                 {"--exchange-sources", address_, "--exchange-plain", "--exchange-token-file",
                  token_file, "--upload-idle-seconds", "3600", "--drain-seconds", "3600"});
  }

  static std::string exchange_address(const RunningDaemon& daemon) {
    constexpr std::string_view kBefore = "sluiced: exchange on ";
    const std::string said = daemon.output();
    const std::size_t at = said.find(kBefore) + kBefore.size();
    return said.substr(at, said.find('\n', at) - at);
  }

  /// A tensor of the giver that is offered.
  terms::OfferedTensor offer(rpc::client::Client& client, std::vector<float>& values) const {
    const terms::TensorView view = {values.data(),
                                    static_cast<std::int64_t>(values.size() * sizeof(float)),
                                    ir::ElementType::kF32,
                                    {static_cast<std::int64_t>(values.size())}};
    const auto index = client.put_tensor(view);
    EXPECT_TRUE(index.is_ok()) << index.status().to_string();
    const auto key = client.offer_tensor(*index);
    EXPECT_TRUE(key.is_ok()) << key.status().to_string();
    return {address_, *index, *key};
  }

  static Status refusal(rpc::client::Client& client, const terms::OfferedTensor& wanted) {
    const auto pulled = client.pull_tensor(wanted);
    EXPECT_FALSE(pulled.is_ok());
    return pulled.status();
  }

  TempDir folder_;
  std::unique_ptr<RunningDaemon> giver_;
  std::string address_;
  std::unique_ptr<RunningDaemon> taker_;
};

TEST_F(ExchangeHostsTest, TensorsOfAnySizeAreFetchedWithTypeAndShape) {
  const auto there = giver_->client("there");
  const auto here = taker_->client("here");
  for (const std::size_t count : {0U, 1U, 262'144U, 262'145U, 5'000'001U}) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 1.0F);
    const auto pulled = here->pull_tensor(offer(*there, values));
    ASSERT_TRUE(pulled.is_ok()) << pulled.status().to_string();
    EXPECT_EQ(pulled->view.element, ir::ElementType::kF32);
    const auto copy = here->get_tensor(static_cast<std::uint64_t>(pulled->index));
    ASSERT_TRUE(copy.is_ok()) << copy.status().to_string();
    const terms::TensorView& view = copy->outputs.at(0).view;
    ASSERT_EQ(view.dims, (std::vector<std::int64_t>{static_cast<std::int64_t>(count)}));
    const auto* got = static_cast<const float*>(view.data);
    EXPECT_TRUE(std::equal(values.begin(), values.end(), got));
  }
}

TEST_F(ExchangeHostsTest, StaleIndexesAndWrongKeysAreRefused) {
  const auto there = giver_->client("there");
  const auto here = taker_->client("here");
  std::vector<float> values(4, 2);
  const terms::OfferedTensor offered = offer(*there, values);
  terms::OfferedTensor wrong = offered;
  wrong.key.back() = wrong.key.back() == '0' ? '1' : '0';
  EXPECT_EQ(terms::runtime_code_of(refusal(*here, wrong)), RuntimeCode::kInvalidHandle);
  ASSERT_TRUE(here->pull_tensor(offered).is_ok());
  ASSERT_TRUE(there->remove_tensor(offered.exchange).is_ok());
  const Status gone = refusal(*here, offered);
  EXPECT_EQ(terms::runtime_code_of(gone), RuntimeCode::kInvalidHandle);
  EXPECT_THAT(gone.message(), HasSubstr("offer the tensor again"));
  EXPECT_THAT(gone.message(), HasSubstr(address_));

  // A daemon that was started again numbers from 1 again: another tensor has the index now.
  EXPECT_EQ(giver_->end(SIGTERM), 0);
  giver_ = start("giver", "0",
                 {"--exchange-listen", address_, "--exchange-plain", "--exchange-peers",
                  "token:guest", "--token-file", (folder_ / "tokens").string()});
  const auto again = giver_->client("again");
  ASSERT_EQ(offer(*again, values).exchange, offered.exchange);
  EXPECT_EQ(terms::runtime_code_of(refusal(*here, offered)), RuntimeCode::kInvalidHandle);
}

TEST_F(ExchangeHostsTest, OnlyListedPeersFetchAndOnlyFromListedSources) {
  const auto there = giver_->client("there");
  std::vector<float> values(4, 2);
  const terms::OfferedTensor offered = offer(*there, values);
  std::ofstream(folder_ / "other") << "other\n";
  std::ofstream(folder_ / "unknown") << "unknown\n";
  int device = 2;
  for (const std::string token : {"other", "unknown"}) {
    const auto taker = start_taker(token, std::to_string(device++), (folder_ / token).string());
    const Status refused = refusal(*taker->client("here"), offered);
    EXPECT_EQ(refused.code(), Code::kPermissionDenied);
    EXPECT_THAT(refused.message(), HasSubstr("exchange_peers"));
  }
  terms::OfferedTensor elsewhere = offered;
  elsewhere.address = "127.0.0.1:1";
  const Status refused = refusal(*taker_->client("here"), elsewhere);
  EXPECT_EQ(refused.code(), Code::kPermissionDenied);
  EXPECT_THAT(refused.message(), HasSubstr("exchange_sources"));
  EXPECT_FALSE(taker_->client()->offer_tensor(1).is_ok()) << "it serves no peers";
}

TEST_F(ExchangeHostsTest, InvalidTimeToLiveIsRefusedBeforeTheFetch) {
  // The other daemon would refuse the key: its answer is not what comes.
  const terms::OfferedTensor wanted = {address_, 1, "no key"};
  for (const std::int64_t ttl_ns : {std::int64_t{-1}, std::int64_t{1} << 62}) {
    const auto pulled = taker_->client("here")->pull_tensor(wanted, ttl_ns);
    ASSERT_FALSE(pulled.is_ok());
    EXPECT_EQ(terms::runtime_code_of(pulled.status()), RuntimeCode::kInvalid);
    EXPECT_THAT(pulled.status().message(), HasSubstr("time to live"));
  }
}

TEST_F(ExchangeHostsTest, OnlyTheOwnerOffersATensor) {
  const auto owner = giver_->client("owner");
  std::vector<float> values(4, 2);
  const terms::OfferedTensor offered = offer(*owner, values);
  EXPECT_EQ(owner->offer_tensor(offered.exchange).value(), offered.key) << "the same key each time";
  EXPECT_EQ(
      terms::runtime_code_of(giver_->client("other")->offer_tensor(offered.exchange).status()),
      RuntimeCode::kInvalidHandle);
}

TEST_F(ExchangeHostsTest, ExchangeListenerServesNothingElse) {
  const auto client = rpc::client::Client::create({.address = address_, .token = "knock"}).value();
  EXPECT_EQ(client->server().status().code(), Code::kUnimplemented);
  EXPECT_EQ(client->list_models().status().code(), Code::kUnimplemented);
}

TEST_F(ExchangeHostsTest, FetchFromASilentDaemonEndsWithItsSessionAndItsDaemon) {
  const auto there = giver_->client("there");
  std::vector<float> values(4, 2);
  const terms::OfferedTensor offered = offer(*there, values);
  ASSERT_TRUE(suspend(giver_->process()));
  {
    const auto here = taker_->client("here");
    std::thread pull([&] {
      const auto pulled = here->pull_tensor(offered);
      EXPECT_FALSE(pulled.is_ok());
    });
    const auto admin = taker_->client();
    const auto sessions = admin->list_sessions();
    ASSERT_TRUE(sessions.is_ok() && sessions->size() == 1);
    ASSERT_TRUE(admin->close_session(sessions->front().id).is_ok());
    pull.join();
  }
  const auto nobody = taker_->client();
  std::thread pull([&] { EXPECT_FALSE(nobody->pull_tensor(offered).is_ok()); });
  pause_for(std::chrono::milliseconds(200));  // most often it waits by then
  EXPECT_EQ(taker_->end(SIGTERM), 0);
  pull.join();
  kill(giver_->process(), SIGCONT);
}

}  // namespace
}  // namespace sluice::testing
