#include "device/memory_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "support/sim.h"

namespace sluice::device {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// A device of 8 MiB.
class MemoryPoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto sim = sluice::testing::make_sim(R"({"devices": [{"memory_bytes": 8388608}]})");
    ASSERT_TRUE(sim.is_ok()) << sim.status().to_string();
    sim_ = std::move(sim).value();
  }
  MemoryPool pool(std::int64_t limit_bytes, std::int64_t slack_bytes) {
    return MemoryPool::of_device(sim_.backend, 0, {limit_bytes, slack_bytes});
  }
  PooledMemory allocate(MemoryPool& pool, std::int64_t size_bytes) {
    auto memory = pool.allocate(size_bytes, "client", MemoryCategory::kArenas);
    EXPECT_TRUE(memory.is_ok()) << memory.status().to_string();
    return std::move(memory).value();
  }
  std::int64_t device_bytes() const { return sim_.time->memory_used_bytes(0); }

  sluice::testing::Sim sim_;
};

TEST_F(MemoryPoolTest, ReservesNothingBeforeTheFirstAllocation) {
  MemoryPool lazy = pool(8 * kMiB, 8 * kMiB);
  EXPECT_EQ(device_bytes(), 0);
  const PooledMemory memory = allocate(lazy, kMiB);
  EXPECT_EQ(device_bytes(), kMiB);
}

TEST_F(MemoryPoolTest, HandsAnIdleBlockToTheNextUser) {
  MemoryPool lazy = pool(8 * kMiB, 8 * kMiB);
  void* address = nullptr;
  {
    const PooledMemory memory = allocate(lazy, kMiB);
    address = memory.address();
  }
  EXPECT_EQ(device_bytes(), kMiB) << "kept";
  const PooledMemory again = allocate(lazy, kMiB - 100);
  EXPECT_EQ(again.address(), address);
  EXPECT_EQ(device_bytes(), kMiB);
}

TEST_F(MemoryPoolTest, ReleasesMemoryBeyondTheSlackAtOnce) {
  MemoryPool eager = pool(8 * kMiB, kMiB);
  {
    std::vector<PooledMemory> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(allocate(eager, kMiB));
    EXPECT_EQ(device_bytes(), 4 * kMiB);
  }
  EXPECT_EQ(device_bytes(), kMiB);
  EXPECT_EQ(eager.usage().idle_bytes, kMiB);
  EXPECT_EQ(eager.usage().grown_bytes, 4 * kMiB);
  EXPECT_EQ(eager.usage().shrunk_bytes, 3 * kMiB);
  eager.release_idle();
  EXPECT_EQ(device_bytes(), 0);
  EXPECT_EQ(eager.usage().idle_bytes, 0);
  EXPECT_EQ(eager.usage().shrunk_bytes, 4 * kMiB);
}

TEST_F(MemoryPoolTest, ReleasesIdleBlocksBeforeRefusing) {
  MemoryPool full = pool(64 * kMiB, 8 * kMiB);
  { const PooledMemory small = allocate(full, 4 * kMiB); }
  EXPECT_EQ(device_bytes(), 4 * kMiB);
  const PooledMemory large = allocate(full, 7 * kMiB);
  EXPECT_EQ(device_bytes(), 7 * kMiB) << "the idle block made room";
}

TEST_F(MemoryPoolTest, RefusalListsUsersOfTheMemory) {
  MemoryPool limited = pool(4 * kMiB, 0);
  auto weights = limited.allocate(3 * kMiB, "resnet", MemoryCategory::kConstants);
  ASSERT_TRUE(weights.is_ok());
  const auto more = limited.allocate(2 * kMiB, "bert", MemoryCategory::kArenas);
  EXPECT_EQ(more.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(more.status().message(), HasSubstr("bert: no 2097152 bytes for arenas"));
  EXPECT_THAT(more.status().message(), HasSubstr("resnet: 3145728 bytes of constants"));
}

TEST_F(MemoryPoolTest, ErrorIncludesTheDevicesOwnMessage) {
  MemoryPool unlimited = pool(64 * kMiB, 0);
  const auto memory = unlimited.allocate(16 * kMiB, "bert", MemoryCategory::kArenas);
  EXPECT_EQ(memory.status().code(), Code::kResourceExhausted);
  EXPECT_FALSE(unlimited.allocate(-1, "bert", MemoryCategory::kArenas).is_ok());
}

TEST_F(MemoryPoolTest, CountsByClientAndCategoryAndKeepsTheHighWaterMark) {
  MemoryPool counted = pool(8 * kMiB, 0);
  auto weights = counted.allocate(1000, "resnet", MemoryCategory::kConstants);
  ASSERT_TRUE(weights.is_ok());
  {
    const auto arena = counted.allocate(5000, "resnet", MemoryCategory::kArenas);
    const auto other = counted.allocate(70, "bert", MemoryCategory::kArenas);
    ASSERT_TRUE(arena.is_ok() && other.is_ok());
    const MemoryUsage usage = counted.usage();
    EXPECT_EQ(usage.bytes_of("resnet"), 6000);
    EXPECT_EQ(usage.bytes_of(MemoryCategory::kArenas), 5070);
    EXPECT_EQ(usage.used.bytes, 6070);
  }
  const MemoryUsage usage = counted.usage();
  EXPECT_EQ(usage.used.bytes, 1000);
  EXPECT_EQ(usage.used.peak_bytes, 6070);
  EXPECT_GE(usage.held.bytes, usage.used.bytes);
  EXPECT_EQ(usage.held.bytes, device_bytes());
  EXPECT_EQ(usage.describe(), "resnet: 1000 bytes of constants");
}

TEST_F(MemoryPoolTest, MemoryOutlivesThePool) {
  PooledMemory memory;
  {
    MemoryPool gone = pool(8 * kMiB, kMiB);
    memory = allocate(gone, kMiB);
  }
  EXPECT_EQ(device_bytes(), kMiB);
  memory = PooledMemory();
  EXPECT_EQ(device_bytes(), 0) << "the last user takes the pool with it";
}

}  // namespace
}  // namespace sluice::device
