#include "worker/protocol/arena.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <random>
#include <vector>

#include "shm/ring_server.h"

namespace sluice::worker {
namespace {

std::int64_t pages_bytes(const Arena& arena) {
  struct stat info = {};
  EXPECT_EQ(fstat(arena.fd(), &info), 0);
  return static_cast<std::int64_t>(info.st_blocks) * 512;
}

TEST(Arena, ContainsAValidRing) {
  const auto arena = Arena::create();
  ASSERT_TRUE(arena.is_ok()) << arena.status().to_string();
  EXPECT_TRUE(shm::RingServer::create((*arena)->memory()).is_ok());
}

TEST(Arena, BlocksOfConcurrentUsersNeverOverlap) {
  const auto arena = Arena::create();
  ASSERT_TRUE(arena.is_ok());
  std::mt19937 random(1);
  std::vector<Arena::Block> blocks;
  for (int i = 0; i < 5000; ++i) {
    if (!blocks.empty() && random() % 2 == 0) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      blocks.pop_back();
      continue;
    }
    auto block = (*arena)->allocate(static_cast<std::int64_t>(random() % 5000));
    ASSERT_TRUE(block.is_ok());
    ASSERT_EQ(block->offset() % 64, 0U);
    for (const auto& other : blocks) {
      ASSERT_TRUE(block->offset() + block->size_bytes() <= other.offset() ||
                  other.offset() + other.size_bytes() <= block->offset());
    }
    blocks.push_back(std::move(*block));
  }
}

TEST(Arena, MemoryOfABurstIsReturned) {
  const auto arena = Arena::create();
  ASSERT_TRUE(arena.is_ok());
  const std::int64_t before = pages_bytes(**arena);
  {
    auto large = (*arena)->allocate(std::int64_t{100} << 20);
    ASSERT_TRUE(large.is_ok());
    EXPECT_GE(pages_bytes(**arena), std::int64_t{100} << 20);
    std::memset(large->memory().data(), 1, large->memory().size());
  }
  EXPECT_LE(pages_bytes(**arena), before + (std::int64_t{17} << 20));
}

TEST(Arena, AllocationBeyondCapacityIsRefused) {
  const auto arena = Arena::create();
  ASSERT_TRUE(arena.is_ok());
  const auto block = (*arena)->allocate(static_cast<std::int64_t>(kArenaBytes));
  EXPECT_EQ(block.status().code(), Code::kResourceExhausted);
}

TEST(Arena, AllocationBeyondLimitIsRefused) {
  const auto arena = Arena::create(std::uint64_t{20} << 20);
  ASSERT_TRUE(arena.is_ok());
  const auto block = (*arena)->allocate(std::int64_t{15} << 20);
  EXPECT_TRUE(block.is_ok());
  EXPECT_EQ((*arena)->allocate(std::int64_t{15} << 20).status().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace sluice::worker
