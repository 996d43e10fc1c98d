// A stream pool beside a model of its rules, in random operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "device/stream/stream_pool.h"
#include "device/testing/device_testing.h"

namespace sluice::device {
namespace {

constexpr std::int64_t kCopyBytes = 100;
constexpr StreamPoolOptions kOptions = {.made_ahead = 3, .max_unused = 6};

class RandomStreams {
 public:
  explicit RandomStreams(unsigned seed) : random_(seed) {
    for (int i = 0; i < 4; ++i) {
      lists_.push_back(testing::copy_list(device_, kCopyBytes));
      list_ends_ns_.push_back(0);
    }
  }

  void step() {
    const std::uint64_t what = random_() % 100;
    if (what < 30) {
      take();
    } else if (what < 60) {
      give_back();
    } else if (what < 85) {
      submit();
    } else if (what < 97) {
      device_.sim.time->advance_by(static_cast<std::int64_t>(random_() % 150));
    } else {
      refill();
    }
    check();
  }

 private:
  struct Used {
    std::string owner;
    PooledStream stream;
    std::int64_t busy_until_ns = 0;
  };

  /// Unused streams whose work is done.
  std::size_t num_idle() {
    return static_cast<std::size_t>(std::ranges::count_if(
        unused_until_ns_, [&](std::int64_t until_ns) { return until_ns <= device_.now_ns(); }));
  }
  void take() {
    if (used_.size() >= 8) return;
    const std::string owner = "function " + std::to_string(random_() % 3);
    settle();
    const std::size_t created = pool_.num_created();
    const bool is_there = num_idle() > 0;
    auto taken = pool_.take(owner);
    ASSERT_TRUE(taken.is_ok());
    ASSERT_EQ(pool_.num_created() - created, is_there ? 0U : 1U);
    ASSERT_TRUE((*taken)->wait(std::chrono::nanoseconds(0)).is_ok()) << "drained before reuse";
    if (is_there) {
      unused_until_ns_.erase(std::ranges::find_if(
          unused_until_ns_, [&](std::int64_t until_ns) { return until_ns <= device_.now_ns(); }));
    }
    used_.push_back({owner, std::move(*taken), 0});
  }
  void give_back() {
    if (used_.empty()) return;
    const auto it = used_.begin() + static_cast<std::ptrdiff_t>(random_() % used_.size());
    unused_until_ns_.push_back(it->busy_until_ns);
    used_.erase(it);
    settle();
  }
  /// A copy of 100 ns; the device copies one at a time, in order.
  void submit() {
    const std::size_t list = random_() % lists_.size();
    if (used_.empty() || list_ends_ns_[list] > device_.now_ns()) return;
    Used& used = used_[random_() % used_.size()];
    // One copy per stream at a time, so that copies run in the order of their submission.
    if (used.busy_until_ns > device_.now_ns()) return;
    const std::array<void*, 2> bindings = {bytes_.data(), memory_.address()};
    ASSERT_TRUE(used.stream->submit(lists_[list], bindings).is_ok());
    engine_until_ns_ = std::max(engine_until_ns_, device_.now_ns()) + kCopyBytes;
    used.busy_until_ns = engine_until_ns_;
    list_ends_ns_[list] = engine_until_ns_;
  }
  void refill() {
    ASSERT_TRUE(pool_.refill().is_ok());
    settle();
    while (unused_until_ns_.size() < kOptions.made_ahead) unused_until_ns_.push_back(0);
  }
  /// Idle streams beyond the limit are destroyed; streams with work stay.
  void settle() {
    while (unused_until_ns_.size() > kOptions.max_unused && num_idle() > 0) {
      unused_until_ns_.erase(std::ranges::find_if(
          unused_until_ns_, [&](std::int64_t until_ns) { return until_ns <= device_.now_ns(); }));
    }
  }
  void check() {
    ASSERT_EQ(pool_.num_unused(), unused_until_ns_.size());
    ASSERT_EQ(pool_.num_streams(), unused_until_ns_.size() + used_.size());
    std::size_t num_owned = 0;
    for (const StreamUse& use : pool_.uses()) {
      ASSERT_EQ(use.num_streams,
                static_cast<std::size_t>(std::ranges::count(used_, use.owner, &Used::owner)));
      num_owned += use.num_streams;
    }
    ASSERT_EQ(num_owned, used_.size()) << "each stream in use has an owner";
  }

  std::mt19937 random_;
  testing::TestDevice device_ = testing::make_device();
  backend::DeviceMemory memory_ = device_.allocate(kCopyBytes);
  std::vector<char> bytes_ = std::vector<char>(kCopyBytes);
  std::vector<backend::CommandList> lists_;
  std::vector<std::int64_t> list_ends_ns_;
  StreamPool pool_ = StreamPool::create(device_.group, kOptions).value();
  std::vector<Used> used_;
  std::vector<std::int64_t> unused_until_ns_ = {0, 0, 0};
  std::int64_t engine_until_ns_ = 0;
};

TEST(StreamPool, Follows100000RandomOperationsOfAModel) {
  RandomStreams streams(7);
  for (int step = 0; step < 100'000; ++step) {
    streams.step();
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "step " << step;
  }
}

}  // namespace
}  // namespace sluice::device
