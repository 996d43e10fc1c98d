#include "base/containers/lru_map.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace sluice {
namespace {

using Map = LruMap<int, std::string>;

constexpr int kTrials = static_cast<int>(Map::kMaxTrials);

TEST(LruMap, DropsTheLeastRecentlyUsed) {
  Map map(30);
  for (int key = 1; key <= 3; ++key) map.insert(key, "value", 10);
  EXPECT_NE(map.find(1), nullptr);
  map.insert(4, "value", 10);
  EXPECT_EQ(map.find(2), nullptr);
  for (const int key : {1, 3, 4}) EXPECT_NE(map.find(key), nullptr) << key;
  EXPECT_EQ(map.held_bytes(), 30);
}

TEST(LruMap, ErasesTheKeysThatACallerNames) {
  Map map(1000);
  for (int key = 0; key < 6; ++key) map.insert(key, "value", 10, /*is_cheap=*/key < 2);
  map.erase_if([](int key) { return key % 2 == 0; });
  for (int key = 0; key < 6; ++key) EXPECT_EQ(map.find(key) != nullptr, key % 2 == 1) << key;
  EXPECT_EQ(map.size(), 3U);
  EXPECT_EQ(map.held_bytes(), 30);
}

TEST(LruMap, DropsTheOldestOfTheKeysThatACallerNames) {
  LruMap<int, int> map(100);
  for (const int key : {1, 2, 3, 4}) map.insert(key, key, 10);
  map.find(2);
  const auto is_even = [](int key) { return key % 2 == 0; };
  EXPECT_TRUE(map.drop_oldest(is_even));
  EXPECT_EQ(map.find(4), nullptr);
  EXPECT_TRUE(map.drop_oldest(is_even));
  EXPECT_FALSE(map.drop_oldest(is_even));
  EXPECT_EQ(map.held_bytes(), 20);
}

TEST(LruMap, KeepsTheValueThatIsThere) {
  Map map(30);
  map.insert(1, "first", 10);
  EXPECT_EQ(map.insert(1, "second", 20), "first");
  EXPECT_EQ(map.held_bytes(), 10);
}

TEST(LruMap, KeepsAValueLargerThanTheLimitUntilTheNext) {
  for (const bool is_cheap : {false, true}) {
    Map map(0);
    map.insert(1, "large", 10, is_cheap);
    EXPECT_NE(map.find(1), nullptr);
    map.insert(2, "next", 10, is_cheap);
    EXPECT_EQ(map.find(1), nullptr);
    EXPECT_NE(map.find(2), nullptr);
    EXPECT_EQ(map.size(), 1U);
  }
}

TEST(LruMap, CheapValuesThatComeOnceAreFew) {
  Map map(1000000);
  for (int key = 0; key < 1000; ++key) map.insert(key, "value", 10, true);
  EXPECT_EQ(map.size(), Map::kMaxTrials);
  EXPECT_EQ(map.held_bytes(), 10 * kTrials);
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_NE(map.find(999), nullptr);
}

TEST(LruMap, CheapValueThatIsAskedForIsKept) {
  Map map(1000000);
  map.insert(0, "value", 10, true);
  EXPECT_NE(map.find(0), nullptr);
  for (int key = 1; key < 1000; ++key) map.insert(key, "value", 10, true);
  EXPECT_NE(map.find(0), nullptr);
}

TEST(LruMap, CheapValueThatComesAgainIsKept) {
  Map map(1000000);
  for (int round = 0; round < 2; ++round) {
    for (int key = 0; key < 100; ++key) map.insert(key, "value", 10, true);
  }
  for (int key = 0; key < 100; ++key) EXPECT_NE(map.find(key), nullptr) << key;
}

TEST(LruMap, CheapValuesGoBeforeOthers) {
  Map map(30);
  map.insert(1, "dear", 10);
  for (int key = 2; key <= 5; ++key) map.insert(key, "cheap", 10, true);
  EXPECT_NE(map.find(1), nullptr);
  for (const int key : {2, 3}) EXPECT_EQ(map.find(key), nullptr) << key;
  for (const int key : {4, 5}) EXPECT_NE(map.find(key), nullptr) << key;
}

/// A value that counts its own bytes in a sum, as long as it lives.
struct Shared {
  explicit Shared(std::int64_t& in) : sum(in) { sum += 100; }
  ~Shared() { sum -= 100; }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  std::int64_t& sum;
};

TEST(LruMap, CountsWhatValuesHoldTogetherOnce) {
  std::int64_t shared_bytes = 0;
  LruMap<int, std::shared_ptr<Shared>> map(130, &shared_bytes);
  const auto insert = [&](int key, std::shared_ptr<Shared> value) { map.insert(key, value, 10); };
  insert(1, std::make_shared<Shared>(shared_bytes));
  insert(2, *map.find(1));
  EXPECT_EQ(map.held_bytes(), 120);
  insert(3, std::make_shared<Shared>(shared_bytes));  // no room for two of them
  EXPECT_EQ(map.size(), 1U);
  EXPECT_EQ(map.held_bytes(), 110);
}

}  // namespace
}  // namespace sluice
