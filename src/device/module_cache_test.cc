#include "device/module_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace sluice::device {
namespace {

using Cache = ModuleCache<int>;

Cache::Shared find(Cache& cache, std::string_view key, int& num_made) {
  auto value = cache.find_or_make(
      key, [&]() -> Result<Cache::Shared> { return std::make_shared<const int>(++num_made); });
  EXPECT_TRUE(value.is_ok());
  return std::move(value).value();
}

TEST(ModuleCache, BuildsOneSharedValuePerKey) {
  Cache cache;
  int num_made = 0;
  const auto first = find(cache, "conv", num_made);
  const auto again = find(cache, "conv", num_made);
  const auto other = find(cache, "gemm", num_made);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_EQ(num_made, 2);
  EXPECT_EQ(cache.num_living(), 2U);
}

TEST(ModuleCache, ValueDiesWithItsLastUser) {
  Cache cache;
  int num_made = 0;
  auto value = find(cache, "conv", num_made);
  value.reset();
  EXPECT_EQ(cache.num_living(), 0U);
  value = find(cache, "conv", num_made);
  EXPECT_EQ(num_made, 2) << "made anew";
}

TEST(ModuleCache, FailureIsReturnedAndRetried) {
  Cache cache;
  const auto failed = cache.find_or_make(
      "conv", []() -> Result<Cache::Shared> { return Status(Code::kInternal, "no"); });
  EXPECT_EQ(failed.status().message(), "no");
  int num_made = 0;
  EXPECT_NE(find(cache, "conv", num_made), nullptr);
}

TEST(ModuleCache, ManyKeysOfDeadValuesAreForgotten) {
  Cache cache;
  int num_made = 0;
  for (int i = 0; i < 10'000; ++i) find(cache, std::to_string(i), num_made);
  EXPECT_EQ(cache.num_living(), 0U);
  EXPECT_EQ(num_made, 10'000);
}

TEST(ModuleCache, ConcurrentRequestsForOneKeyBuildOnce) {
  Cache cache;
  std::atomic<int> num_made = 0;
  std::vector<Cache::Shared> values(4);
  std::vector<std::thread> threads;
  const auto make = [&]() -> Result<Cache::Shared> {
    return std::make_shared<const int>(++num_made);
  };
  const auto keep = find(cache, "other", *std::make_unique<int>(0));
  for (auto& value : values) {
    threads.emplace_back([&] { value = cache.find_or_make("conv", make).value(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_made, 1);
  for (const auto& value : values) EXPECT_EQ(value, values.front());
}

}  // namespace
}  // namespace sluice::device
