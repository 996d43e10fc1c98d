// A memory pool beside a model of its rules, in random operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "device/memory_pool.h"
#include "support/sim.h"

namespace sluice::device {
namespace {

constexpr std::int64_t kDeviceBytes = 65536;
constexpr std::int64_t kSlackBytes = 8192;

/// The rules of memory_pool.h, written from its comments: linear searches in lists of sizes.
class RandomMemory {
 public:
  RandomMemory(std::int64_t limit_bytes, unsigned seed)
      : random_(seed),
        max_held_bytes_(std::min(limit_bytes, kDeviceBytes)),
        pool_(MemoryPool::of_device(sim_.backend, 0, {limit_bytes, kSlackBytes})) {}

  void step() {
    const std::uint64_t what = random_() % 1000;
    if (what < 520) {
      allocate();
    } else if (what < 998) {
      give_back();
    } else {
      pool_.release_idle();
      idle_.clear();
    }
    check();
  }
  int num_refused() const { return num_refused_; }

 private:
  struct Used {
    PooledMemory memory;
    std::int64_t block_bytes = 0;
    std::string client;
    MemoryCategory category = MemoryCategory::kOther;
    char mark = 0;
  };

  /// Sizes of all magnitudes, so that idle blocks fit closely, loosely and not at all.
  std::int64_t any_size() {
    return static_cast<std::int64_t>(random_() % (std::uint64_t{1} << (random_() % 15)));
  }
  std::int64_t held_bytes() const {
    std::int64_t held = std::accumulate(idle_.begin(), idle_.end(), std::int64_t{0});
    for (const Used& one : used_) held += one.block_bytes;
    return held;
  }
  /// The smallest idle block that is at most a quarter too large, out of the list.
  std::optional<std::int64_t> take_idle(std::int64_t block_bytes) {
    std::ranges::sort(idle_);
    const auto found =
        std::ranges::find_if(idle_, [&](std::int64_t size) { return size >= block_bytes; });
    if (found == idle_.end() || *found > block_bytes + block_bytes / 4) return std::nullopt;
    const std::int64_t taken = *found;
    idle_.erase(found);
    return taken;
  }
  void allocate() {
    Used used;
    used.client = "function " + std::to_string(random_() % 3);
    used.category = static_cast<MemoryCategory>(random_() % kNumMemoryCategories);
    const std::int64_t size_bytes = any_size();
    const std::int64_t wanted = MemoryPool::block_bytes(size_bytes).value();
    ASSERT_GE(wanted, size_bytes);
    ASSERT_LE(wanted - std::max<std::int64_t>(size_bytes, 256),
              std::max<std::int64_t>(size_bytes / 8, backend::kAlignment));
    const auto idle = take_idle(wanted);
    used.block_bytes = idle.value_or(wanted);
    if (!idle && held_bytes() + wanted > max_held_bytes_) idle_.clear();
    const bool fits = idle || held_bytes() + wanted <= max_held_bytes_;
    auto memory = pool_.allocate(size_bytes, used.client, used.category);
    ASSERT_EQ(memory.is_ok(), fits) << memory.status().to_string();
    num_refused_ += fits ? 0 : 1;
    if (!fits) return;
    used.memory = std::move(*memory);
    used.mark = static_cast<char>(random_());
    std::memset(used.memory.address(), used.mark, static_cast<std::size_t>(size_bytes));
    used_.push_back(std::move(used));
  }
  /// Memory that two had at once would have lost its mark.
  void give_back() {
    if (used_.empty()) return;
    const auto it = used_.begin() + static_cast<std::ptrdiff_t>(random_() % used_.size());
    const auto* bytes = static_cast<const char*>(it->memory.address());
    ASSERT_TRUE(std::all_of(bytes, bytes + it->memory.size_bytes(),
                            [&](char byte) { return byte == it->mark; }));
    idle_.push_back(it->block_bytes);
    used_.erase(it);
    std::ranges::sort(idle_);
    while (std::accumulate(idle_.begin(), idle_.end(), std::int64_t{0}) > kSlackBytes) {
      idle_.pop_back();
    }
  }
  void check() const {
    const MemoryUsage usage = pool_.usage();
    ASSERT_EQ(usage.held.bytes, held_bytes());
    ASSERT_EQ(sim_.time->memory_used_bytes(0), held_bytes()) << "a truthful query";
    ASSERT_LE(usage.held.peak_bytes, max_held_bytes_);
    std::int64_t used_bytes = 0;
    for (const Used& one : used_) used_bytes += one.memory.size_bytes();
    ASSERT_EQ(usage.used.bytes, used_bytes);
    const std::string client = "function 1";
    ASSERT_EQ(usage.bytes_of(client),
              bytes_where([&](const Used& one) { return one.client == client; }));
    ASSERT_EQ(usage.bytes_of(MemoryCategory::kArenas),
              bytes_where([](const Used& one) { return one.category == MemoryCategory::kArenas; }));
  }
  template <typename IsMeant>
  std::int64_t bytes_where(const IsMeant& is_meant) const {
    std::int64_t bytes = 0;
    for (const Used& one : used_) bytes += is_meant(one) ? one.memory.size_bytes() : 0;
    return bytes;
  }

  std::mt19937_64 random_;
  sluice::testing::Sim sim_ =
      sluice::testing::make_sim(R"({"devices": [{"memory_bytes": 65536}]})").value();
  std::int64_t max_held_bytes_;
  MemoryPool pool_;
  std::vector<Used> used_;
  std::vector<std::int64_t> idle_;  ///< sizes of blocks
  int num_refused_ = 0;
};

/// The pool's limit refuses in one run, the device in the other.
TEST(MemoryPool, Follows100000RandomOperationsOfAModel) {
  for (const std::int64_t limit_bytes : {kDeviceBytes / 2, kDeviceBytes * 2}) {
    RandomMemory memory(limit_bytes, 11);
    for (int step = 0; step < 100'000; ++step) {
      memory.step();
      ASSERT_FALSE(::testing::Test::HasFatalFailure())
          << "limit " << limit_bytes << ", step " << step;
    }
    EXPECT_GT(memory.num_refused(), 1000) << "limit " << limit_bytes;
  }
}

}  // namespace
}  // namespace sluice::device
