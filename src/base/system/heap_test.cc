#include "base/system/heap.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "support/sanitizer.h"

namespace sluice {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(Heap, CountsBlocksOfEverySizeAndThreadUntilTheyAreFreed) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer replaces malloc";
  const std::int64_t before = heap_bytes();
  std::vector<std::unique_ptr<std::byte[]>> blocks;
  blocks.push_back(std::make_unique<std::byte[]>(64 * kMiB));  // a map of its own
  for (int i = 0; i < 1024; ++i) blocks.push_back(std::make_unique<std::byte[]>(4096));
  std::thread([&] { blocks.push_back(std::make_unique<std::byte[]>(kMiB)); }).join();
  EXPECT_GE(heap_bytes() - before, 69 * kMiB);
  EXPECT_LT(heap_bytes() - before, 70 * kMiB);
  blocks.clear();
  EXPECT_LT(heap_bytes() - before, kMiB);
}

TEST(Heap, IsTrimmedOnceAfterMuchWasFreed) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer replaces malloc";
  HeapTrimmer trimmer;
  trimmer.look();
  EXPECT_FALSE(trimmer.look());
  std::vector<std::unique_ptr<std::byte[]>> blocks;
  for (int i = 0; i < 1024; ++i) blocks.push_back(std::make_unique<std::byte[]>(64 << 10));
  const auto last =
      std::make_unique<std::byte[]>(64 << 10);  // keeps the others from the heap's end
  EXPECT_FALSE(trimmer.look());
  blocks.clear();
  EXPECT_TRUE(trimmer.look());
  EXPECT_FALSE(trimmer.look());
}

}  // namespace
}  // namespace sluice
