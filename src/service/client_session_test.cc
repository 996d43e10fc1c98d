#include "service/client_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "service/region_slices.h"
#include "shm/shared_memory.h"

namespace sluice::service {
namespace {

using terms::CoreGroupId;
using terms::ModelHandle;
using ::testing::ElementsAre;

RuntimeCode code_of(const Status& status) { return terms::runtime_code_of(status); }

ClientSession session_of(SessionQuota quota) {
  return ClientSession(terms::SessionId{7}, "test", terms::Peer{}, "token", 0, quota,
                       ClientMemory({}).of("test"));
}

TEST(ClientSession, QuotasAreEnforcedAndReleasedAmountsReturn) {
  ClientSession session = session_of({.max_models = 2, .max_cores = 5, .max_in_flight = 1});
  ASSERT_TRUE(session.add_model(ModelHandle{1}, 3).is_ok());
  EXPECT_EQ(code_of(session.add_group(CoreGroupId(1), 3)), RuntimeCode::kOutOfResources);
  EXPECT_EQ(code_of(session.add_model(ModelHandle{2}, 3)), RuntimeCode::kOutOfResources);
  ASSERT_TRUE(session.add_group(CoreGroupId(1), 2).is_ok());
  ASSERT_TRUE(session.add_model(ModelHandle{2}, 0).is_ok());
  EXPECT_EQ(code_of(session.add_model(ModelHandle{3}, 0)), RuntimeCode::kOutOfResources);
  session.remove_model(ModelHandle{1});
  EXPECT_TRUE(session.add_model(ModelHandle{3}, 3).is_ok());
  EXPECT_EQ(session.info(0).num_cores, 5);

  ASSERT_TRUE(session.requests()->enter().is_ok());
  EXPECT_EQ(code_of(session.requests()->enter()), RuntimeCode::kQueueFull);
  session.requests()->leave();
  EXPECT_TRUE(session.requests()->enter().is_ok());
}

TEST(ClientSession, ClosingReturnsItsHandlesOnceAndRefusesNewOnes) {
  ClientSession session = session_of({});
  ASSERT_TRUE(session.add_model(ModelHandle{1}, 0).is_ok());
  ASSERT_TRUE(session.add_group(CoreGroupId(4), 2).is_ok());
  int told = 0;
  EXPECT_TRUE(session.on_close([&](const Status& /*reason*/) { ++told; }));
  const auto held = session.close(make_error(Code::kCancelled, "gone"));
  EXPECT_THAT(held.models, ElementsAre(ModelHandle{1}));
  EXPECT_THAT(held.groups, ElementsAre(CoreGroupId(4)));
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(session.stop_token().stop_requested());
  EXPECT_TRUE(session.close(make_error(Code::kCancelled, "again")).models.empty());
  EXPECT_EQ(told, 1);
  for (const Status& status : {session.add_model(ModelHandle{2}, 0), session.enter_load().status(),
                               session.add_group(CoreGroupId(5), 1), session.requests()->enter()}) {
    EXPECT_EQ(code_of(status), RuntimeCode::kCancelled);
  }
  EXPECT_FALSE(session.on_close({}));
}

std::shared_ptr<shm::Region> region_of(std::int64_t size_bytes) {
  const auto memory = shm::SharedMemory::create(size_bytes).value();
  return shm::Region::adopt(memory.fd(), static_cast<std::uint64_t>(size_bytes)).value();
}

TEST(ClientSession, SharedMemoryIsLimitedAndReleasedAtTheEnd) {
  ClientSession session = session_of({.max_regions = 2, .max_region_bytes = 10'000});
  const auto region = region_of(4096);
  ASSERT_TRUE(session.add_region(1, region).is_ok());
  EXPECT_EQ(code_of(session.add_region(2, region_of(8192))), RuntimeCode::kOutOfResources);
  ASSERT_TRUE(session.add_region(3, region_of(4096)).is_ok());
  EXPECT_EQ(code_of(session.add_region(4, region_of(64))), RuntimeCode::kOutOfResources);
  EXPECT_EQ(session.find_region(1), region);
  EXPECT_EQ(session.find_region(2), nullptr);
  EXPECT_EQ(session.remove_region(3).handle, 3U);
  EXPECT_EQ(session.remove_region(3).region, nullptr);
  ASSERT_TRUE(session.add_region(5, region_of(4096)).is_ok());
  int stopped = 0;
  ASSERT_TRUE(session.set_ring(5, [&] { ++stopped; }).is_ok());
  EXPECT_EQ(code_of(session.set_ring(3, {})), RuntimeCode::kCancelled);
  EXPECT_EQ(session.list_regions().size(), 2U);
  {
    const auto held = session.close(make_error(Code::kCancelled, "gone"));
    ASSERT_EQ(held.regions.size(), 2U);
    EXPECT_EQ(held.regions[0].region, region);
    held.regions[1].stop_ring();
    EXPECT_EQ(stopped, 1);
  }
  EXPECT_EQ(session.find_region(1), nullptr);
  EXPECT_EQ(region.use_count(), 1);
  EXPECT_EQ(code_of(session.add_region(6, region)), RuntimeCode::kCancelled);
}

TEST(ClientSession, RequestsLeftBehindByACloseAreCancelled) {
  ClientSession session = session_of({});
  ASSERT_TRUE(session.add_region(1, region_of(4096)).is_ok());
  ASSERT_TRUE(session.check_open().is_ok());
  EXPECT_TRUE(open_output(session, {1, 0, 64}).is_ok());
  EXPECT_EQ(code_of(open_output(session, {2, 0, 64}).status()), RuntimeCode::kInvalidHandle);
  session.close(make_error(Code::kCancelled, "gone"));
  for (const Status& status : {session.check_open(), open_output(session, {1, 0, 64}).status(),
                               open_input(session, {1, 0, 64}, false).status(),
                               open_named_output(session, "part", {0, 0, 64}).status()}) {
    EXPECT_EQ(code_of(status), RuntimeCode::kCancelled) << status.message();
  }
}

TEST(ClientSession, EndWaitsForLoadsInProgress) {
  ClientSession session = session_of({});
  auto entered = session.enter_load();
  ASSERT_TRUE(entered.is_ok());
  session.close(make_error(Code::kCancelled, "gone"));
  bool has_left = false;
  std::thread load([&] {
    has_left = true;
    const ClientSession::Load left = std::move(*entered);
  });
  session.wait_for_loads();
  EXPECT_TRUE(has_left);
  load.join();
}

TEST(SessionTable, TokensAreUniqueAndValidForOpenSessionsOnly) {
  ClientMemory memory({});
  SessionTable table({}, memory);
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) {
    const auto session = table.open("client", terms::Peer{}, 0);
    ASSERT_TRUE(session.is_ok());
    EXPECT_EQ((*session)->token().size(), 32U);
    tokens.insert((*session)->token());
    EXPECT_EQ(table.find((*session)->token()), *session);
  }
  EXPECT_EQ(tokens.size(), 100U);
  const auto first = table.all().front();
  EXPECT_TRUE(table.remove(first->id()));
  EXPECT_FALSE(table.remove(first->id()));
  EXPECT_EQ(table.find(first->token()), nullptr);
  EXPECT_EQ(table.find(std::string_view("")), nullptr);
}

TEST(SessionTable, LimitsTheNumberOfSessionsAndRefusesAfterClose) {
  ClientMemory memory({});
  SessionTable table({}, memory, 2);
  ASSERT_TRUE(table.open("a", terms::Peer{}, 0).is_ok());
  ASSERT_TRUE(table.open("b", terms::Peer{}, 0).is_ok());
  EXPECT_EQ(code_of(table.open("c", terms::Peer{}, 0).status()), RuntimeCode::kOutOfResources);
  table.close();
  EXPECT_EQ(table.open("d", terms::Peer{}, 0).status().code(), Code::kUnavailable);
}

TEST(SessionTable, AccountLeavesRoomForOthers) {
  SessionQuota quota;
  quota.max_sessions = 2;
  ClientMemory memory({});
  SessionTable table(quota, memory);
  const terms::Peer alice = {"unix:/s", 1, 4'000'001};
  const auto first = table.open("a", alice, 0).value();
  ASSERT_TRUE(table.open("b", alice, 0).is_ok());
  EXPECT_EQ(code_of(table.open("c", alice, 0).status()), RuntimeCode::kOutOfResources);
  EXPECT_TRUE(table.open("d", terms::Peer{"unix:/s", 1, 4'000'002}, 0).is_ok());
  ASSERT_TRUE(table.remove(first->id()));
  EXPECT_TRUE(table.open("e", alice, 0).is_ok());
}

TEST(CommonHoldings, EveryAccountHasItsOwn) {
  SessionQuota quota;
  quota.max_models = 1;
  std::vector<sandbox::OwnerId> owners;
  ClientMemory memory({});
  CommonHoldings common(quota, memory, 0,
                        [&](const ClientSession& session) { owners.push_back(session.owner()); });
  const auto alice = common.of("user 1");
  const auto token = common.of("token a");
  EXPECT_EQ(owners, (std::vector{alice->owner(), token->owner()}));
  EXPECT_EQ(alice, common.of("user 1"));
  EXPECT_NE(alice->owner(), token->owner());
  EXPECT_TRUE(alice->add_model(terms::ModelHandle{1}, 1).is_ok());
  EXPECT_EQ(code_of(alice->add_model(terms::ModelHandle{2}, 1)), RuntimeCode::kOutOfResources);
  EXPECT_TRUE(token->add_model(terms::ModelHandle{2}, 1).is_ok());
  common.remove_model(terms::ModelHandle{1});
  EXPECT_TRUE(alice->add_model(terms::ModelHandle{3}, 1).is_ok());
}

}  // namespace
}  // namespace sluice::service
