#include "base/system/huge_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "base/system/aligned_memory.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kPage = HugePages::kPageBytes;

class HugePagesTest : public ::testing::Test {
 protected:
  std::vector<std::byte> memory_ = std::vector<std::byte>(5 * kPage);
  std::shared_ptr<HugePages> pages_ = HugePages::over(memory_);
};

TEST_F(HugePagesTest, AllocationsAreWholePagesThatDoNotOverlap) {
  auto* one = static_cast<std::byte*>(pages_->take(1));
  auto* two = static_cast<std::byte*>(pages_->take(kPage + 1));
  EXPECT_EQ(one, memory_.data());
  EXPECT_EQ(two, memory_.data() + kPage);
  EXPECT_EQ(pages_->num_taken(), 3);
  EXPECT_EQ(pages_->take(3 * kPage), nullptr);
  EXPECT_EQ(pages_->take(2 * kPage), memory_.data() + 3 * kPage);
}

TEST_F(HugePagesTest, ReleasedPagesAreReused) {
  void* first = pages_->take(2 * kPage);
  void* second = pages_->take(3 * kPage);
  pages_->give_back(first, 2 * kPage);
  EXPECT_EQ(pages_->take(3 * kPage), nullptr) << "two pages are free";
  pages_->give_back(second, 3 * kPage);
  EXPECT_EQ(pages_->num_taken(), 0);
  EXPECT_EQ(pages_->take(5 * kPage), memory_.data());
}

TEST(HugePages, ShortageErrorNamesNumbersAndCommand) {
  const auto none = HugePages::reserve(std::int64_t{1} << 32);  // 8 EiB
  ASSERT_FALSE(none.is_ok());
  EXPECT_EQ(none.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(none.status().message(), HasSubstr("4294967296 of 2 MiB are asked for"));
  EXPECT_THAT(none.status().message(), HasSubstr("are free"));
  EXPECT_THAT(none.status().message(), HasSubstr("sysctl -w vm.nr_hugepages="));
}

/// The system's pool, larger by some pages until this goes, where the test may enlarge it.
class EnlargedPool {
 public:
  explicit EnlargedPool(std::int64_t num_pages) {
    std::int64_t before = 0;
    if (!(std::ifstream(kFile) >> before)) return;
    if (std::ofstream(kFile) << before + num_pages << std::flush) before_ = before;
  }
  ~EnlargedPool() {
    if (before_) std::ofstream(kFile) << *before_ << std::flush;
  }
  EnlargedPool(const EnlargedPool&) = delete;
  EnlargedPool& operator=(const EnlargedPool&) = delete;

 private:
  static constexpr const char* kFile = "/proc/sys/vm/nr_hugepages";
  std::optional<std::int64_t> before_;
};

std::int64_t num_free_in_system() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::int64_t number = 0;
    if (word == "HugePages_Free:" && file >> number) return number;
  }
  return 0;
}

TEST(HugePages, ReservedPagesAreWritableAndReturnedToTheSystem) {
  const EnlargedPool pool(2);
  for (int round = 0; round < 2; ++round) {
    const std::int64_t num_free = num_free_in_system();
    auto pages = HugePages::reserve(2);
    if (!pages.is_ok()) GTEST_SKIP() << pages.status().message();
    EXPECT_EQ(num_free_in_system(), num_free - 2) << "they come from the system's pool";
    auto* data = static_cast<std::byte*>((*pages)->take(2 * kPage));
    ASSERT_NE(data, nullptr);
    std::memset(data, 1, static_cast<std::size_t>(2 * kPage));
    (*pages)->give_back(data, 2 * kPage);
    *pages = nullptr;
    EXPECT_EQ(num_free_in_system(), num_free);
  }
}

class ProcessPagesTest : public HugePagesTest {
 protected:
  ProcessPagesTest() { HugePages::set_for_process(pages_); }
  ~ProcessPagesTest() override { HugePages::set_for_process(nullptr); }
};

TEST_F(ProcessPagesTest, HoldTensorsThatComeFromElsewhereWhileSomeAreFree) {
  auto tensor = allocate_aligned(static_cast<std::uint64_t>(2 * kPage));
  EXPECT_EQ(tensor.get(), memory_.data());
  EXPECT_EQ(pages_->num_taken(), 2);
  EXPECT_NE(allocate_aligned(64), nullptr);
  EXPECT_EQ(pages_->num_taken(), 2) << "small ones take none";
  auto beyond = allocate_aligned(static_cast<std::uint64_t>(4 * kPage));
  ASSERT_NE(beyond, nullptr) << "ordinary memory";
  EXPECT_EQ(pages_->num_taken(), 2);
  tensor = nullptr;
  EXPECT_EQ(pages_->num_taken(), 0);
  EXPECT_EQ(allocate_aligned(std::numeric_limits<std::uint64_t>::max() / 4), nullptr);
}

}  // namespace
}  // namespace sluice
