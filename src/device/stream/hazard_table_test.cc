#include "device/stream/hazard_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>

namespace sluice::device {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::size_t> add(HazardTable& table, std::size_t stream, Access access) {
  return table.add(stream, {&access, 1});
}

TEST(HazardTable, ReaderWaitsForTheWriterAndWriterForReaders) {
  HazardTable table(3);
  EXPECT_THAT(add(table, 0, {0, 10, true}), IsEmpty());
  EXPECT_THAT(add(table, 1, {5, 6, false}), ElementsAre(0U)) << "reads what 0 writes";
  EXPECT_THAT(add(table, 2, {0, 3, false}), ElementsAre(0U));
  EXPECT_THAT(add(table, 0, {0, 10, true}), ElementsAre(2U, 1U)) << "overwrites what both read";
}

TEST(HazardTable, NoWaitForReadersOtherBytesOrTheOwnStream) {
  HazardTable table(2);
  EXPECT_THAT(add(table, 0, {0, 10, false}), IsEmpty());
  EXPECT_THAT(add(table, 1, {0, 10, false}), IsEmpty()) << "both read";
  EXPECT_THAT(add(table, 1, {10, 20, true}), IsEmpty()) << "other bytes";
  EXPECT_THAT(add(table, 1, {10, 20, true}), IsEmpty()) << "its own";
}

TEST(HazardTable, OrderIsTransitive) {
  HazardTable table(3);
  add(table, 0, {0, 10, true});
  const std::vector<Access> both = {{0, 10, false}, {20, 30, true}};
  EXPECT_THAT(table.add(1, both), ElementsAre(0U));
  const std::vector<Access> last = {{0, 10, false}, {20, 30, false}};
  EXPECT_THAT(table.add(2, last), ElementsAre(1U)) << "which covers 0";
  EXPECT_THAT(table.add(2, last), IsEmpty()) << "it has waited already";
}

TEST(HazardTable, NothingWaitsForWorkThatHasEnded) {
  HazardTable table(2);
  add(table, 0, {0, 10, true});
  table.clear();
  EXPECT_THAT(add(table, 1, {0, 10, true}), IsEmpty());
}

/// The order that waits and streams give, as a matrix over all works, closed under transitivity.
class RandomWork {
 public:
  explicit RandomWork(unsigned seed) : random_(seed) {}

  void step() {
    if (works_.size() == kMaxWorks) {
      table_.clear();
      works_.clear();
    }
    Work work;
    work.stream = random_() % kStreams;
    for (std::uint64_t i = 1 + random_() % 3; i > 0; --i) {
      const std::uintptr_t begin = random_() % 30;
      work.accesses.push_back({begin, begin + 1 + random_() % 5, random_() % 2 == 0});
    }
    // Before any wait: after all work of its stream.
    for (std::size_t i = 0; i < works_.size(); ++i) {
      if (works_[i].stream == work.stream) come_after(work, i);
    }
    for (const std::size_t other : table_.add(work.stream, work.accesses)) {
      ASSERT_NE(other, work.stream);
      const auto last = last_of(other);
      ASSERT_TRUE(last.has_value());
      ASSERT_FALSE(work.comes_after[*last]) << "a wait for what it comes after anyway";
      for (std::size_t i = 0; i < works_.size(); ++i) {
        if (works_[i].stream == other) come_after(work, i);
      }
    }
    for (std::size_t i = 0; i < works_.size(); ++i) {
      ASSERT_TRUE(work.comes_after[i] || !conflict(works_[i], work)) << "a hazard without order";
    }
    works_.push_back(work);
  }

 private:
  static constexpr std::size_t kStreams = 5;
  static constexpr std::size_t kMaxWorks = 40;
  struct Work {
    std::size_t stream = 0;
    std::vector<Access> accesses;
    std::array<bool, kMaxWorks> comes_after = {};
  };

  void come_after(Work& work, std::size_t earlier) {
    work.comes_after[earlier] = true;
    for (std::size_t i = 0; i < earlier; ++i) {
      if (works_[earlier].comes_after[i]) work.comes_after[i] = true;
    }
  }
  std::optional<std::size_t> last_of(std::size_t stream) const {
    for (std::size_t i = works_.size(); i > 0; --i) {
      if (works_[i - 1].stream == stream) return i - 1;
    }
    return std::nullopt;
  }
  static bool conflict(const Work& a, const Work& b) {
    return std::ranges::any_of(a.accesses, [&](const Access& x) {
      return std::ranges::any_of(b.accesses, [&](const Access& y) {
        return (x.is_write || y.is_write) && std::max(x.begin, y.begin) < std::min(x.end, y.end);
      });
    });
  }

  std::mt19937_64 random_;
  HazardTable table_{kStreams};
  std::vector<Work> works_;
};

TEST(HazardTable, Follows100000RandomOperationsOfAModel) {
  RandomWork work(11);
  for (int step = 0; step < 100'000; ++step) {
    work.step();
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "step " << step;
  }
}

}  // namespace
}  // namespace sluice::device
