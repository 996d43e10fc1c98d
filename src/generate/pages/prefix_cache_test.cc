#include "generate/pages/prefix_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "terms/tensors/signature.h"

namespace sluice::generate {
namespace {

using Longs = std::vector<std::int64_t>;

constexpr std::int64_t kPlaces = 4;

terms::Signature signature() {
  terms::Signature made;
  made.inputs = {{"state.k", ir::parse_type("f32[P,1,4,1]").value()}};
  made.outputs = {{"state.k.next", ir::parse_type("f32[P,1,4,1]").value()}};
  return made;
}

/// Tokens 0, 1, 2, ..
Longs counted(std::size_t count) {
  Longs tokens(count);
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

class PrefixCacheTest : public ::testing::Test {
 protected:
  /// A text whose tokens are all computed.
  Pages computed(const Longs& tokens) {
    Pages pages(pool_);
    EXPECT_TRUE(pages.reserve(std::ssize(tokens)).is_ok());
    PrefixCache::Mark mark;
    cache_.keep(tokens, pages.pages(), kPlaces, mark);
    return pages;
  }
  std::size_t num_found(const Longs& tokens) { return cache_.find(tokens, kPlaces).size(); }

  std::shared_ptr<PagePool> pool_ = PagePool::create(signature(), 6).value();
  PrefixCache cache_;
};

TEST_F(PrefixCacheTest, GivesFullPagesThatLeaveATokenToCompute) {
  const Pages first = computed(counted(10));
  EXPECT_EQ(cache_.num_pages(), 2U);
  for (const auto& [count, pages] : {std::pair(4, 0), {5, 1}, {8, 1}, {9, 2}, {30, 2}}) {
    EXPECT_EQ(num_found(counted(static_cast<std::size_t>(count))), static_cast<std::size_t>(pages));
  }
  EXPECT_EQ(cache_.find(counted(9), kPlaces)[1], first.pages()[1]);
  Longs other = counted(9);
  other[0] = 7;
  EXPECT_EQ(num_found(other), 0U) << "the second page follows another first one";
}

TEST_F(PrefixCacheTest, KeepsThePagesOfTheFirstOfTwoEqualTexts) {
  const Pages first = computed(counted(8));
  {
    const Pages second = computed(counted(8));
    EXPECT_EQ(cache_.num_pages(), 2U);
  }
  EXPECT_EQ(pool_->size_bytes(), 2 * 16);
  EXPECT_EQ(cache_.find(counted(9), kPlaces)[0], first.pages()[0]);
}

TEST_F(PrefixCacheTest, GivesBackTheLeastRecentlyUsedThatNobodyShares) {
  (void)computed(counted(8));
  Longs other = counted(8);
  other[7] = 1;
  (void)computed(other);
  EXPECT_EQ(cache_.num_pages(), 3U) << "both begin with one page";
  other.push_back(0);
  const auto shared = cache_.find(counted(9), kPlaces);
  EXPECT_EQ(num_found(other), 2U);
  EXPECT_TRUE(cache_.give_back());
  EXPECT_EQ(num_found(other), 1U) << "used last, but the others are shared";
  EXPECT_FALSE(cache_.give_back());
}

TEST_F(PrefixCacheTest, GivesBackLastPagesFirst) {
  (void)computed(counted(12));
  for (const std::size_t left : {2U, 1U, 0U}) {
    EXPECT_TRUE(cache_.give_back());
    EXPECT_EQ(num_found(counted(13)), left);
  }
  EXPECT_FALSE(cache_.give_back());
  EXPECT_EQ(pool_->size_bytes(), 0);
}

TEST_F(PrefixCacheTest, GivesBackByTheLastUseNotByAge) {
  Longs other = counted(8);
  other[0] = 7;
  (void)computed(counted(8));
  (void)computed(other);
  EXPECT_EQ(num_found(counted(9)), 2U);
  EXPECT_TRUE(cache_.give_back());
  EXPECT_TRUE(cache_.give_back());
  EXPECT_EQ(cache_.num_pages(), 2U);
  EXPECT_EQ(num_found(counted(9)), 2U);
}

TEST_F(PrefixCacheTest, KeepsNoMorePagesThanItsLimit) {
  cache_.set_most_pages(2);
  (void)computed(counted(12));
  EXPECT_EQ(num_found(counted(13)), 2U) << "the text had all of them when the third came";
  Longs other = counted(8);
  other[0] = 7;
  (void)computed(other);
  EXPECT_EQ(cache_.num_pages(), 2U);
  EXPECT_EQ(pool_->size_bytes(), 2 * 16);
  EXPECT_EQ(num_found(counted(9)), 0U) << "the oldest went";
  other.push_back(0);
  EXPECT_EQ(num_found(other), 2U);
  const auto shared = cache_.find(other, kPlaces);
  (void)computed(counted(8));
  EXPECT_EQ(num_found(counted(9)), 0U) << "all are shared";
  EXPECT_EQ(cache_.num_pages(), 2U);
}

TEST_F(PrefixCacheTest, FullTreeKeepsThePageThatTheNewOneFollows) {
  cache_.set_most_pages(1);
  (void)computed(counted(4));
  (void)computed(counted(8));  // with a first page of its own
  EXPECT_EQ(num_found(counted(9)), 1U);
  EXPECT_TRUE(cache_.give_back());
  EXPECT_EQ(cache_.num_pages(), 0U);
}

TEST_F(PrefixCacheTest, LowerLimitGivesBackAtOnceWhatNobodyShares) {
  (void)computed(counted(8));
  Longs other = counted(8);
  other[0] = 7;
  const Pages living = computed(other);
  cache_.set_most_pages(1);
  EXPECT_EQ(cache_.num_pages(), 2U) << "a text has these";
  EXPECT_EQ(num_found(counted(9)), 0U);
}

TEST_F(PrefixCacheTest, TextThatGrowsKeepsItsNewPages) {
  Pages pages(pool_);
  ASSERT_TRUE(pages.reserve(16).is_ok());
  PrefixCache::Mark mark;
  const Longs tokens = counted(16);
  for (const std::size_t count : {4U, 7U, 8U, 12U, 16U, 16U}) {
    cache_.keep(std::span(tokens).first(count), pages.pages(), kPlaces, mark);
    EXPECT_EQ(cache_.num_pages(), count / 4);
    EXPECT_EQ(mark.num_pages, count / 4);
  }
  EXPECT_EQ(num_found(counted(17)), 4U);
  // After a loss of pages the text computes its tokens once more.
  cache_.keep(std::span(tokens).first(8), pages.pages(), kPlaces, mark);
  EXPECT_EQ(mark.num_pages, 2U);
  EXPECT_EQ(cache_.num_pages(), 4U);
}

TEST_F(PrefixCacheTest, TextWhoseMarkWentKeepsAllItsPages) {
  (void)computed(counted(8));
  Pages own(pool_);
  ASSERT_TRUE(own.reserve(12).is_ok());
  PrefixCache::Mark mark;
  const Longs tokens = counted(12);
  cache_.keep(std::span(tokens).first(8), own.pages(), kPlaces, mark);
  EXPECT_EQ(cache_.num_pages(), 2U) << "those of the text that ended";
  EXPECT_TRUE(cache_.give_back());
  cache_.keep(tokens, own.pages(), kPlaces, mark);
  EXPECT_EQ(cache_.num_pages(), 3U);
  EXPECT_EQ(cache_.find(counted(13), kPlaces)[2], own.pages()[2]);
}

TEST_F(PrefixCacheTest, FirstPagesAreAsFreshAsThoseBehindThem) {
  Longs other = counted(4);
  other[0] = 7;
  (void)computed(other);
  other.push_back(0);
  std::vector<PagePool::Page> shared;
  {
    Pages pages(pool_);
    ASSERT_TRUE(pages.reserve(8).is_ok());
    PrefixCache::Mark mark;
    const Longs tokens = counted(8);
    cache_.keep(std::span(tokens).first(4), pages.pages(), kPlaces, mark);
    shared = cache_.find(other, kPlaces);
    cache_.keep(tokens, pages.pages(), kPlaces, mark);
  }
  EXPECT_TRUE(cache_.give_back());
  EXPECT_EQ(cache_.num_pages(), 2U) << "the long one's last page went, for the other is shared";
  shared.clear();
  EXPECT_TRUE(cache_.give_back());
  EXPECT_EQ(num_found(counted(5)), 1U) << "used with its last page, after the other";
}

TEST_F(PrefixCacheTest, AccountsShareNoPages) {
  const Pages first = computed(counted(8));
  Pages second(pool_);
  ASSERT_TRUE(second.reserve(8).is_ok());
  EXPECT_THAT(cache_.find(counted(9), kPlaces, 1), ::testing::IsEmpty());
  PrefixCache::Mark mark;
  cache_.keep(counted(8), second.pages(), kPlaces, mark, 1);
  EXPECT_EQ(cache_.num_pages(), 4U);
  EXPECT_EQ(cache_.find(counted(9), kPlaces, 1)[1], second.pages()[1]);
  EXPECT_EQ(cache_.find(counted(9), kPlaces)[1], first.pages()[1]);
}

}  // namespace
}  // namespace sluice::generate
