#include "base/system/huge_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(HugePages, ReservedPagesAreWritableAndReturnedToTheSystem) {
  for (int round = 0; round < 2; ++round) {
    auto pages = HugePages::reserve(1);
    if (!pages.is_ok()) GTEST_SKIP() << pages.status().message();
    auto* data = static_cast<std::byte*>((*pages)->take(kPage));
    ASSERT_NE(data, nullptr);
    data[kPage - 1] = std::byte{1};
    (*pages)->give_back(data, kPage);
  }
}

}  // namespace
}  // namespace sluice
