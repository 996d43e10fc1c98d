// Which text has which pages of the cache, and who gives them back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "completions/account_numbers.h"
#include "completions/scheduler.h"
#include "completions/testing/scheduler_testing.h"

namespace sluice::completions {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(SchedulerTest, GivesPagesBackWhenTextsEnd) {
  for (int round = 0; round < 3; ++round) {
    Heard heard[4];
    std::vector<std::shared_ptr<Generation>> texts;
    for (Heard& one : heard) {
      Longs prompt(40, 0);
      prompt[texts.size()] = 1;  // none begins as another
      texts.push_back(make(std::move(prompt)));
      ASSERT_TRUE(start(texts.back(), one).is_ok());
    }
    sink_->answer_with(0);
    EXPECT_EQ(held_bytes(), 8 * kPageBytes);
    texts[1]->cancel();
    EXPECT_EQ(held_bytes(), 8 * kPageBytes) << "its run may still write";
    sink_->answer_with(1);
    EXPECT_EQ(held_bytes(), 6 * kPageBytes) << "though others live";
    sink_->answer_with(2);
    EXPECT_EQ(shared_.num_texts, 0);
    sink_->requests.clear();
    EXPECT_EQ(held_bytes(), 0);
  }
}

TEST_F(SchedulerTest, SharesThePagesOfTextsThatBeginAlike) {
  Heard first, second;
  ASSERT_TRUE(start(make(Longs(70, 0)), first).is_ok());
  sink_->answer_with(1);
  Longs other(70, 0);
  other.back() = 1;
  ASSERT_TRUE(start(make(other), second).is_ok());
  sink_->answer_with(1);
  EXPECT_THAT(sink_->numbers(1), ElementsAre(71, 64, 65, 66, 67, 68, 69, 69))
      << "64 tokens are there";
  EXPECT_EQ(held_bytes(), 4 * kPageBytes) << "two are shared";
  sink_->answer_with(2);
  ASSERT_EQ(second.endings.size(), 1U);
  EXPECT_EQ(first.endings.at(0).num_cached_tokens, 0);
  EXPECT_EQ(second.endings[0].num_cached_tokens, 64);
  EXPECT_EQ(second.endings[0].num_prompt_tokens, 70);
  sink_->requests.clear();
  EXPECT_EQ(held_bytes(), 0);
}

TEST_F(SchedulerTest, KeepsThePagesOfATextThatEndedUntilOthersNeedThem) {
  budget(3 * kPageBytes);
  Heard first, second, third;
  ASSERT_TRUE(start(make(Longs(70, 0)), first).is_ok());
  sink_->answer_with(2);
  EXPECT_EQ(shared_.caches->held_bytes(), 2 * kPageBytes) << "those that are full";
  ASSERT_TRUE(start(make(Longs(65, 0)), second).is_ok());
  EXPECT_THAT(sink_->numbers(1), ElementsAre(64));
  sink_->answer_with(2);
  ASSERT_TRUE(start(make(Longs(70, 1)), third).is_ok());
  EXPECT_EQ(sink_->numbers(1).front(), 0);
  sink_->answer_with(2);
  ASSERT_EQ(third.endings.size(), 1U);
  EXPECT_TRUE(third.endings[0].status.is_ok());
  EXPECT_EQ(shared_.num_prompt_tokens, 205);
  EXPECT_EQ(shared_.num_cached_tokens, 64);
}

TEST_F(SchedulerTest, KeepsPagesOfTextsThatEndedUpToALimit) {
  shared_.prefixes.set_limit(3 * kPageBytes);
  for (const std::int64_t token : {0, 1}) {
    Heard heard;
    ASSERT_TRUE(start(make(Longs(70, token)), heard).is_ok());
    sink_->answer_with(2);
    sink_->requests.clear();
  }
  EXPECT_EQ(shared_.caches->held_bytes(), 3 * kPageBytes) << "though there is room for 4";
  Heard again;
  ASSERT_TRUE(start(make(Longs(70, 1)), again).is_ok());
  sink_->answer_with(2);
  EXPECT_EQ(again.endings.at(0).num_cached_tokens, 64) << "the first text's went";
}

TEST_F(SchedulerTest, ModelsDivideTheLimitOfPagesThatAreKept) {
  const auto pool = generate::PagePool::create(sink_->signature(), 8).value();
  const auto keep = [&](generate::PrefixCache& cache) {
    generate::Pages pages(pool);
    ASSERT_TRUE(pages.reserve(128).is_ok());
    generate::PrefixCache::Mark mark;
    cache.keep(Longs(128, 0), pages.pages(), 32, mark);
  };
  const auto first = std::make_shared<generate::PrefixCache>();
  auto second = std::make_shared<generate::PrefixCache>();
  shared_.prefixes.set_limit(4 * kPageBytes);
  shared_.prefixes.add(first, kPageBytes);
  shared_.prefixes.add(first, kPageBytes);
  keep(*first);
  EXPECT_EQ(first->num_pages(), 4U);
  shared_.prefixes.add(second, kPageBytes);
  EXPECT_EQ(first->num_pages(), 2U);
  keep(*second);
  EXPECT_EQ(second->num_pages(), 2U);
  second = nullptr;
  shared_.prefixes.add(first, kPageBytes);
  keep(*first);
  EXPECT_EQ(first->num_pages(), 4U);
}

TEST_F(SchedulerTest, LeavesThePagesOfOtherModelsWhereItsOwnAreAllInUse) {
  const auto others_pool = generate::PagePool::create(sink_->signature(), 8).value();
  const auto others = std::make_shared<generate::PrefixCache>();
  {
    generate::Pages pages(others_pool);
    ASSERT_TRUE(pages.reserve(64).is_ok());
    generate::PrefixCache::Mark mark;
    others->keep(Longs(64, 0), pages.pages(), 32, mark);
  }
  shared_.prefixes.add(others, kPageBytes);
  Heard first, second;
  const auto a = make({0}), b = make({1});
  ASSERT_TRUE(start(a, first).is_ok());
  std::vector<generate::PagePool::Page> rest;
  for (auto page = a->pages()->pool().take(); page.is_ok(); page = a->pages()->pool().take()) {
    rest.push_back(std::move(*page));
  }
  ASSERT_TRUE(a->pages()->pool().is_full());
  ASSERT_TRUE(start(b, second).is_ok());
  sink_->answer_with(0);
  EXPECT_EQ(others->num_pages(), 2U);
  EXPECT_EQ(b->num_pages(), 0) << "it waits";
  a->cancel();
  sink_->answer_with(0);
  b->cancel();
}

TEST_F(SchedulerTest, SharesPagesWithinAnAccountAlone) {
  AccountNumbers accounts(2);
  const auto num_cached = [&](const char* account) {
    Heard heard;
    TextRequest request;
    request.account = accounts.number_of(account);
    EXPECT_TRUE(start(make(Longs(70, 0), std::move(request)), heard).is_ok());
    sink_->answer_with(2);
    return heard.endings.at(0).num_cached_tokens;
  };
  EXPECT_EQ(num_cached("token alice"), 0);
  EXPECT_EQ(num_cached("token bob"), 0) << "alice's tokens are hers";
  EXPECT_EQ(num_cached("token alice"), 64);
  EXPECT_EQ(num_cached("token bob"), 64);
  EXPECT_EQ(num_cached("one too many"), 0);
  EXPECT_EQ(num_cached("one too many"), 0) << "has no number of its own";
}

TEST_F(SchedulerTest, SharesPagesWithinAnAdapterAlone) {
  const auto num_cached = [&](const char* adapter, std::uint64_t account) {
    Heard heard;
    TextRequest request;
    request.tokens.adapter = adapter;
    request.account = account;
    EXPECT_TRUE(start(make(Longs(70, 0), std::move(request)), heard).is_ok());
    sink_->answer_with(2);
    return heard.endings.at(0).num_cached_tokens;
  };
  for (const std::uint64_t account : {1, 2}) {
    for (const char* adapter : {"", "a", "b"}) {
      EXPECT_EQ(num_cached(adapter, account), 0) << adapter << account;
    }
  }
  EXPECT_EQ(num_cached("a", 1), 64);
  EXPECT_EQ(num_cached("", 2), 64);
}

TEST_F(SchedulerTest, TakesThePagesOfPausedTexts) {
  budget(3 * kPageBytes);
  Heard stalled, other;
  stalled.is_full = true;
  const auto a = make(Longs(64, 0)), b = make(Longs(70, 1));
  ASSERT_TRUE(start(a, stalled).is_ok());
  sink_->answer_with(0);
  EXPECT_EQ(num_steps(), 1U) << "nobody reads it";
  ASSERT_TRUE(start(b, other).is_ok());
  EXPECT_EQ(sink_->numbers(1).size(), 72U);
  sink_->answer_with(2);
  ASSERT_EQ(other.endings.size(), 1U);
  EXPECT_TRUE(other.endings[0].status.is_ok());
  stalled.is_full = false;
  a->resume();
  EXPECT_EQ(sink_->numbers(1).front(), 0) << "its tokens are computed again";
  sink_->answer_with(2);
  ASSERT_EQ(stalled.endings.size(), 1U);
  EXPECT_EQ(stalled.text, "a");
}

TEST_F(SchedulerTest, LetsTextsWaitForPages) {
  budget(3 * kPageBytes);
  Heard first, second;
  const auto a = make(Longs(64, 0)), b = make(Longs(40, 1));
  ASSERT_TRUE(start(a, first).is_ok());
  ASSERT_TRUE(start(b, second).is_ok());
  sink_->answer_with(0);
  EXPECT_THAT(sink_->numbers(0), ElementsAre(0)) << "the third page is of the first text";
  sink_->answer_with(2);
  EXPECT_EQ(first.text, "a");
  EXPECT_THAT(second.endings, IsEmpty());
  EXPECT_EQ(sink_->numbers(0), Longs(40, 1));
  sink_->answer_with(0);
  sink_->answer_with(2);
  EXPECT_EQ(second.text, "a");
}

TEST_F(SchedulerTest, ComputesTextsAgainWhosePagesOthersNeed) {
  budget(4 * kPageBytes);
  Heard long_one, short_one, urgent;
  const auto a = make(Longs(64, 0)), b = make(Longs(20, 1));
  ASSERT_TRUE(start(a, long_one).is_ok());
  ASSERT_TRUE(start(b, short_one).is_ok());
  sink_->answer_with(0);  // a needs its third page
  sink_->answer_with(1);
  EXPECT_EQ(shared_.caches->held_bytes(), 4 * kPageBytes);
  const auto c = make(Longs(10, 0), {.tokens = {}, .priority = 1});
  ASSERT_TRUE(start(c, urgent).is_ok());
  sink_->answer_with(1);
  EXPECT_THAT(sink_->numbers(1), ElementsAre(66, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9))
      << "it took the page of the short text";
  sink_->answer_with(2);
  ASSERT_EQ(urgent.endings.size(), 1U);
  EXPECT_TRUE(urgent.endings[0].status.is_ok());
  EXPECT_THAT(sink_->numbers(4), ElementsAre(21)) << "the short text computes 22 tokens again";
  sink_->answer_with(2);
  EXPECT_EQ(long_one.text, "a b b");
  EXPECT_EQ(short_one.text, "b b");
  EXPECT_EQ(shared_.num_texts, 0);
  sink_->requests.clear();
  EXPECT_EQ(held_bytes(), 0);
}

TEST_F(SchedulerTest, EndsAllTextsThoughPagesAreFew) {
  budget(5 * kPageBytes);
  std::vector<Heard> heard(12);
  std::vector<std::shared_ptr<Generation>> texts;
  for (std::size_t i = 0; i < heard.size(); ++i) {
    generate::Request tokens;
    tokens.max_tokens = 100;
    texts.push_back(make(Longs(1 + 3 * i, 0), {.tokens = std::move(tokens)}));
    ASSERT_TRUE(start(texts.back(), heard[i]).is_ok());
  }
  for (int i = 0; i < 5000 && shared_.num_texts > 0; ++i) sink_->answer_with(1);
  for (const Heard& one : heard) {
    ASSERT_EQ(one.endings.size(), 1U);
    EXPECT_TRUE(one.endings[0].status.is_ok()) << one.endings[0].status.message();
    EXPECT_EQ(one.endings[0].num_tokens, 100);
  }
}

/// Texts that begin, pause, end and are cancelled as a seed says, beside runs that fail.
class RandomTexts : public SchedulerTest {
 protected:
  /// Until `count` texts have begun and ended, or false after so many steps that one must hang.
  bool run(int count) {
    for (int i = 0; i < 200 * count; ++i) {
      if (std::ssize(heard_) == count && shared_.num_texts == 0) return true;
      const int act = draw(8);
      if (act < 3 && std::ssize(heard_) < count && std::ssize(living_) < 40) begin_one();
      if (act == 3 && !living_.empty()) one().text->cancel();
      if (act == 4 && !living_.empty()) resume(one());
      if (act > 4) end_step();
      time_passes();
    }
    return false;
  }
  /// Texts whose start failed have heard nothing.
  std::int64_t num_ended() const { return num_refused_ + num_endings_; }

 private:
  struct Living {
    std::shared_ptr<Generation> text;
    Heard* heard = nullptr;
  };
  int draw(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  Living& one() {
    return living_[static_cast<std::size_t>(draw(static_cast<int>(living_.size())))];
  }

  void begin_one() {
    Longs prompt(static_cast<std::size_t>(1 + draw(90)), draw(2));  // many begin as others do
    if (draw(2) == 0) prompt.back() = 1;
    TextRequest request;
    request.tokens.max_tokens = 1 + draw(60);
    request.priority = draw(3) == 0 ? 1 : 0;
    request.account = static_cast<std::uint64_t>(draw(2));
    if (draw(10) == 0) request.deadline_ns = sink_->time.now_ns() + draw(100);
    Heard& heard = heard_.emplace_back();
    heard.is_full = draw(8) == 0;
    const auto text = make(std::move(prompt), std::move(request));
    if (!start(text, heard).is_ok()) {
      ++num_refused_;
    } else {
      living_.push_back({text, &heard});
    }
  }
  static void resume(const Living& living) {
    living.heard->is_full = false;
    living.text->resume();
  }
  void end_step() {
    if (sink_->requests.empty() || sink_->requests.back().on_done == nullptr) return;
    if (draw(40) == 0) {
      sink_->answer(RuntimeCode::kModelFailed, sink_->requests.size() - 1);
    } else {
      sink_->answer_with(draw(12) == 0 ? 2 : draw(2));
    }
  }
  void time_passes() {
    sink_->time.advance(1);
    std::erase_if(living_, [&](const Living& living) {
      num_endings_ += std::ssize(living.heard->endings);
      return !living.heard->endings.empty();
    });
    // A run may end long after its reply.
    if (draw(4) > 0) return;
    std::vector<Request>& requests = sink_->requests;
    for (; num_freed_ < requests.size() && requests[num_freed_].on_done == nullptr; ++num_freed_) {
      requests[num_freed_] = {};
    }
  }

  std::mt19937 random_{1};
  std::deque<Heard> heard_;
  std::vector<Living> living_;
  std::size_t num_freed_ = 0;  ///< requests
  std::int64_t num_refused_ = 0;
  std::int64_t num_endings_ = 0;
};

TEST_F(RandomTexts, LoseNoPageWhere10000AreCancelledAtRandom) {
  constexpr int kTexts = 10'000;
  budget(24 * kPageBytes);
  shared_.prefixes.set_limit(6 * kPageBytes);
  ASSERT_TRUE(run(kTexts));
  sink_->requests.clear();
  EXPECT_EQ(num_ended(), kTexts) << "each ends once";
  EXPECT_EQ(held_bytes(), 0);
  EXPECT_EQ(quota_->num_in_flight(), 0);
}

TEST_F(SchedulerTest, RefusesATextThatFindsTooFewPagesAlone) {
  budget(3 * kPageBytes);
  Heard third;
  const auto c = make(Longs(97, 0));
  EXPECT_EQ(start(c, third).code(), Code::kResourceExhausted);
  EXPECT_THAT(third.endings, IsEmpty()) << "its start failed";
  EXPECT_EQ(quota_->num_in_flight(), 0);
}

}  // namespace
}  // namespace sluice::completions
