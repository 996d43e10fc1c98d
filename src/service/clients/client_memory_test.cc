#include "service/clients/client_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace sluice::service {
namespace {

std::int64_t bytes_of(const std::vector<terms::MemoryItem>& items, std::string_view category) {
  const auto found = std::ranges::find(items, category, &terms::MemoryItem::category);
  return found == items.end() ? -1 : found->bytes;
}

TEST(ClientMemory, LimitOfAnAccountBindsTheSumOfItsKindsAndNobodyElse) {
  ClientMemory memory({.account_bytes = 100});
  const auto alice = memory.of("alice");
  const auto bob = memory.of("bob");
  ASSERT_TRUE(alice->models->charge(40).is_ok());
  ASSERT_TRUE(alice->packages->charge(30).is_ok());
  ASSERT_TRUE(alice->exchange->charge(20).is_ok());
  ASSERT_TRUE(alice->answers->charge(10).is_ok());
  for (const auto& kind : {alice->models, alice->packages, alice->exchange, alice->answers}) {
    EXPECT_EQ(kind->charge(1).code(), Code::kResourceExhausted);
  }
  EXPECT_TRUE(bob->exchange->charge(100).is_ok());
  alice->packages->release(30);
  EXPECT_TRUE(alice->answers->charge(30).is_ok());
  EXPECT_EQ(bytes_of(memory.by_account(), "alice"), 100);
  EXPECT_EQ(bytes_of(memory.by_account(), "bob"), 100);
}

TEST(ClientMemory, KindsAreBoundedInSumAndAddUp) {
  ClientMemory memory({.answer_bytes = 50, .exchange_bytes = 60});
  const auto alice = memory.of("alice");
  const auto bob = memory.of("bob");
  ASSERT_TRUE(alice->exchange->charge(40).is_ok());
  EXPECT_FALSE(bob->exchange->charge(40).is_ok());
  ASSERT_TRUE(bob->exchange->charge(20).is_ok());
  ASSERT_TRUE(alice->answers->charge(50).is_ok());
  EXPECT_FALSE(bob->answers->charge(1).is_ok());
  const auto before = ClientMemory::process()->held_bytes();
  ASSERT_TRUE(bob->models->charge(7).is_ok());
  EXPECT_EQ(ClientMemory::process()->held_bytes(), before + 7);
  const auto kinds = memory.by_kind();
  EXPECT_EQ(bytes_of(kinds, "exchange"), 60);
  EXPECT_EQ(bytes_of(kinds, "answers"), 50);
  EXPECT_EQ(bytes_of(kinds, "models"), 7);
  std::int64_t sum = 0;
  for (const terms::MemoryItem& item : kinds) sum += item.bytes;
  EXPECT_EQ(sum, ClientMemory::process()->held_bytes());
  bob->models->release(7);
}

TEST(ClientMemory, AccountWhoseClientsHaveGoneStillPaysForWhatTheyLeft) {
  ClientMemory memory({.account_bytes = 100});
  {
    auto charge = ByteCharge::take(memory.of("alice")->packages, 80);
    ASSERT_TRUE(charge.is_ok());
    EXPECT_EQ(bytes_of(memory.by_account(), "alice"), 80);
    EXPECT_FALSE(memory.of("alice")->exchange->charge(30).is_ok());
  }
  EXPECT_EQ(bytes_of(memory.by_account(), "alice"), -1);
  EXPECT_TRUE(memory.of("alice")->exchange->charge(100).is_ok());
}

}  // namespace
}  // namespace sluice::service
