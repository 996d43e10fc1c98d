#include "completions/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "completions/testing/scheduler_testing.h"

namespace sluice::completions {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(SchedulerTest, MakesOneRunOfAllThatWait) {
  Heard first, second, third;
  const auto a = make({0, 1}), b = make({1}), c = make({0, 0, 1});
  ASSERT_TRUE(start(a, first).is_ok());
  EXPECT_THAT(sink_->numbers(0), ElementsAre(0, 1));
  ASSERT_TRUE(start(b, second).is_ok());
  ASSERT_TRUE(start(c, third).is_ok());
  EXPECT_EQ(num_steps(), 1U) << "one step at a time";
  sink_->answer_with(1);
  // Two rows that decode, then the prompt.
  ASSERT_EQ(num_steps(), 2U);
  EXPECT_THAT(sink_->numbers(0), ElementsAre(1, 1, 0, 0, 1, 1)) << "filled up with the last row";
  EXPECT_THAT(sink_->numbers(1), ElementsAre(0, 2, 0, 1, 2, 2));
  EXPECT_THAT(sink_->numbers(2), ElementsAre(0, 1, 2, 2, 2, 2));
  EXPECT_THAT(sink_->numbers(4), ElementsAre(0, 1, 4));
  sink_->answer_with(0);
  EXPECT_THAT(sink_->numbers(0), ElementsAre(0, 0, 0));
  sink_->answer_with(2);
  EXPECT_EQ(num_steps(), 3U);
  EXPECT_EQ(first.text, "b a");
  EXPECT_EQ(second.text, "a");
  ASSERT_EQ(third.endings.size(), 1U);
  EXPECT_TRUE(third.endings[0].is_stop);
  EXPECT_EQ(third.endings[0].num_prompt_tokens, 3);
  EXPECT_EQ(shared_.num_texts, 0);
  EXPECT_EQ(quota_->num_in_flight(), 0);
}

TEST_F(SchedulerTest, GivesTheLogProbabilitiesOfEachToken) {
  Heard heard;
  TextRequest request;
  request.tokens.top_logprobs = 2;
  request.stops = {"a"};
  const auto text = make({0}, request);
  ASSERT_TRUE(start(text, heard).is_ok());
  sink_->answer_with(1);
  sink_->answer_with(0);
  ASSERT_EQ(heard.endings.size(), 1U);
  EXPECT_TRUE(heard.endings[0].is_stop);
  EXPECT_EQ(heard.text, "b ");
  ASSERT_EQ(heard.pieces.size(), 2U) << "also of the token that ends the text";
  const auto& first = heard.pieces[0].logprobs;
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(first[0].bytes, "b");
  EXPECT_NEAR(first[0].logprob, 1 - std::log(std::exp(1.0) + 2), 1e-5);
  EXPECT_EQ(first[1].bytes, "b");
  EXPECT_EQ(first[2].bytes, "a");
  EXPECT_NEAR(first[2].logprob, first[0].logprob - 1, 1e-5);
  EXPECT_EQ(heard.pieces[1].logprobs[0].bytes, " a") << "as it stands in the text";
}

TEST_F(SchedulerTest, LimitOfARunReachesTheModelAndStopsNoOtherClientsText) {
  Heard first, limited, other;
  const auto a = make({0}), b = make({1}, {}, 5000), c = make({0}, {}, 5000);
  ASSERT_TRUE(start(a, first).is_ok());
  EXPECT_EQ(sink_->requests.back().max_run_ns, 0);
  ASSERT_TRUE(start(b, limited).is_ok());
  ASSERT_TRUE(start(c, other).is_ok());
  sink_->answer_with(1);
  ASSERT_EQ(num_steps(), 2U);
  EXPECT_EQ(sink_->requests.back().max_run_ns, 5000) << "those that have waited longest";
  EXPECT_THAT(sink_->numbers(0), ElementsAre(1, 0)) << "both";
  sink_->answer(RuntimeCode::kTimeout, 1);
  ASSERT_EQ(limited.endings.size(), 1U);
  EXPECT_EQ(terms::runtime_code_of(limited.endings[0].status), RuntimeCode::kTimeout);
  ASSERT_EQ(num_steps(), 3U);
  EXPECT_EQ(sink_->requests.back().max_run_ns, 0);
  sink_->answer_with(2);
  ASSERT_EQ(first.endings.size(), 1U);
  EXPECT_TRUE(first.endings[0].status.is_ok());
}

TEST_F(SchedulerTest, GivesLongPromptsWhatDecodingLeavesInTurns) {
  Heard heard[3];
  const auto decoding = make({0}), long_prompt = make(Longs(300, 1)), other = make(Longs(300, 0));
  ASSERT_TRUE(start(decoding, heard[0]).is_ok());
  ASSERT_TRUE(start(long_prompt, heard[1]).is_ok());
  ASSERT_TRUE(start(other, heard[2]).is_ok());
  sink_->answer_with(0);
  EXPECT_EQ(sink_->numbers(0).size(), 128U);
  EXPECT_THAT(sink_->numbers(4), ElementsAre(0, 127));
  EXPECT_EQ(sink_->numbers(0).back(), 1);
  sink_->answer_with(0);
  EXPECT_EQ(sink_->numbers(0).back(), 0) << "the other prompt";
  EXPECT_EQ(sink_->numbers(1).back(), 126);
  sink_->answer_with(0);
  EXPECT_EQ(sink_->numbers(0).back(), 1);
  EXPECT_EQ(sink_->numbers(1).back(), 253);
  EXPECT_EQ(heard[0].text, "a a a");
}

TEST_F(SchedulerTest, LetsHigherPrioritiesIntoAFullStepFirst) {
  std::vector<Heard> heard(41);
  std::vector<std::shared_ptr<Generation>> texts;
  for (std::size_t i = 0; i < 41; ++i) {
    texts.push_back(
        make({static_cast<std::int64_t>(i == 40)}, {.tokens = {}, .priority = i == 40 ? 5 : 0}));
    ASSERT_TRUE(start(texts.back(), heard[i]).is_ok());
  }
  sink_->answer_with(0);
  EXPECT_EQ(sink_->numbers(4).size(), 32U);
  EXPECT_EQ(sink_->numbers(0).front(), 1);
  EXPECT_EQ(sink_->requests.back().priority, 5);
  sink_->answer_with(0);
  const auto count = std::ranges::count_if(heard, [](const Heard& h) { return !h.text.empty(); });
  EXPECT_EQ(count, 33);
  sink_->answer_with(0);
  EXPECT_TRUE(std::ranges::none_of(heard, [](const Heard& h) { return h.text.empty(); }))
      << "whoever waits longest goes first";
  for (const auto& text : texts) text->cancel();
}

TEST_F(SchedulerTest, EndsCancelledTextsBetweenStepsAndStepsThatNobodyWants) {
  Heard first, second;
  const auto a = make({0}), b = make({1});
  ASSERT_TRUE(start(a, first).is_ok());
  ASSERT_TRUE(start(b, second).is_ok());
  b->cancel();
  ASSERT_EQ(second.endings.size(), 1U) << "it waited";
  EXPECT_EQ(second.endings[0].status.code(), Code::kCancelled);
  EXPECT_THAT(first.endings, IsEmpty());
  const std::shared_ptr<const void> run = sink_->requests[0].memory_owner;
  a->cancel();
  ASSERT_EQ(first.endings.size(), 1U) << "its step is cancelled with it";
  EXPECT_EQ(first.endings[0].status.code(), Code::kCancelled);
  EXPECT_EQ(shared_.num_texts, 0);
  EXPECT_EQ(shared_.caches->held_bytes(), kPageBytes) << "the run may still write";
  EXPECT_EQ(num_steps(), 1U);
}

TEST_F(SchedulerTest, TellsTextsOfRunsThatFailAndOfLinesThatAreFull) {
  Heard first, second, third;
  const auto a = make({0}), b = make({1}), c = make({1});
  sink_->refusal = Status(Code::kUnavailable, "the line is full");
  EXPECT_EQ(start(a, first).code(), Code::kUnavailable);
  EXPECT_THAT(first.endings, IsEmpty());
  sink_->refusal = ok_status();
  ASSERT_TRUE(start(b, second).is_ok());
  ASSERT_TRUE(start(c, third).is_ok());
  sink_->refusal = Status(Code::kUnavailable, "the line is full");
  sink_->answer(RuntimeCode::kModelFailed, 0);
  ASSERT_EQ(second.endings.size(), 1U);
  EXPECT_EQ(second.endings[0].status.message(), "the run failed");
  ASSERT_EQ(third.endings.size(), 1U);
  EXPECT_EQ(third.endings[0].status.message(), "the line is full");
  EXPECT_EQ(shared_.num_texts, 0);
}

TEST_F(SchedulerTest, LeavesTextsOutWhoseReadersAreSlow) {
  Heard slow, quick;
  slow.is_full = true;
  const auto a = make({0}), b = make({1});
  ASSERT_TRUE(start(a, slow).is_ok());
  ASSERT_TRUE(start(b, quick).is_ok());
  sink_->answer_with(0);
  EXPECT_THAT(sink_->numbers(0), ElementsAre(1)) << "the other one alone";
  sink_->answer_with(0);
  slow.is_full = false;
  a->resume();
  sink_->answer_with(0);
  EXPECT_THAT(sink_->numbers(0), ElementsAre(0, 0));
  EXPECT_THAT(sink_->numbers(1), ElementsAre(1, 2));
  a->cancel();
  b->cancel();
  EXPECT_EQ(shared_.num_texts, 0);
}

TEST_F(SchedulerTest, LetsPromptsIntoStepsThatDecodingTextsFill) {
  std::vector<Heard> heard(34);
  std::vector<std::shared_ptr<Generation>> texts;
  for (std::size_t i = 0; i < 34; ++i) {
    texts.push_back(make(i < 32 ? Longs{0} : Longs(150, 1)));
    ASSERT_TRUE(start(texts.back(), heard[i]).is_ok());
  }
  for (int step = 0; step < 12; ++step) sink_->answer_with(0);
  EXPECT_TRUE(std::ranges::none_of(heard, [](const Heard& h) { return h.text.empty(); }))
      << "every prompt found a place";
  for (const auto& text : texts) text->cancel();
}

TEST_F(SchedulerTest, LetsPromptsOfHigherPriorityPassTextsThatDecode) {
  std::vector<Heard> heard(81);
  std::vector<std::shared_ptr<Generation>> texts;
  for (std::size_t i = 0; i < 81; ++i) {
    texts.push_back(
        make(i < 80 ? Longs{0} : Longs{1, 1, 1}, {.tokens = {}, .priority = i < 80 ? 0 : 5}));
    ASSERT_TRUE(start(texts.back(), heard[i]).is_ok());
  }
  sink_->answer_with(0);
  EXPECT_EQ(sink_->requests.back().priority, 5);
  EXPECT_EQ(sink_->numbers(4).size(), 32U);
  sink_->answer_with(0);
  EXPECT_EQ(heard[80].text, "a");
  for (const auto& text : texts) text->cancel();
}

TEST_F(SchedulerTest, EndsTextsWhoseDeadlinePassesWhileTheyWait) {
  std::vector<Heard> heard(70);
  std::vector<std::shared_ptr<Generation>> texts;
  for (std::size_t i = 0; i < 70; ++i) {
    texts.push_back(make({0}, {.tokens = {}, .deadline_ns = i < 69 ? kNoDeadline : 10}));
    ASSERT_TRUE(start(texts.back(), heard[i]).is_ok());
  }
  sink_->time.advance(10);
  sink_->answer_with(0);
  EXPECT_EQ(sink_->numbers(4).size(), 32U) << "there is no place for the last one";
  ASSERT_EQ(heard[69].endings.size(), 1U);
  EXPECT_EQ(heard[69].endings[0].status.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(shared_.num_texts, 69);
  for (const auto& text : texts) text->cancel();
}

TEST_F(SchedulerTest, TriesStepsAgainThatAFullLineRefuses) {
  Heard first, second, cancelled, late;
  const auto a = make({0}), b = make({1}), c = make({1});
  const auto d = make({1}, {.tokens = {}, .deadline_ns = 10});
  for (const auto& [text, to] : {std::pair(a, &first), {b, &second}, {c, &cancelled}, {d, &late}}) {
    ASSERT_TRUE(start(text, *to).is_ok());
  }
  sink_->refuse(terms::runtime_error(RuntimeCode::kQueueFull, "the line is full"));
  sink_->answer_with(1);
  c->cancel();
  sink_->time.advance(10);
  ASSERT_TRUE(sink_->wait_for(1, 3));
  sink_->refuse(ok_status());
  ASSERT_TRUE(sink_->wait_for(2));
  EXPECT_THAT(first.endings, IsEmpty());
  EXPECT_THAT(second.endings, IsEmpty());
  ASSERT_EQ(cancelled.endings.size(), 1U);
  EXPECT_EQ(cancelled.endings[0].status.code(), Code::kCancelled);
  ASSERT_EQ(late.endings.size(), 1U);
  EXPECT_EQ(late.endings[0].status.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(sink_->numbers(0), ElementsAre(1, 1));
  EXPECT_THAT(sink_->numbers(1), ElementsAre(0, 1)) << "in the order of before";
  sink_->answer_with(2);
  EXPECT_EQ(first.text, "b");
  ASSERT_EQ(second.endings.size(), 1U);
  EXPECT_TRUE(second.endings[0].is_stop);
}

TEST_F(SchedulerTest, StartsTextsWhileTheLineIsFull) {
  Heard heard;
  sink_->refuse(terms::runtime_error(RuntimeCode::kQueueFull, "the line is full"));
  const auto text = make({0});
  ASSERT_TRUE(start(text, heard).is_ok());
  ASSERT_TRUE(sink_->wait_for(0, 2));
  sink_->refuse(ok_status());
  ASSERT_TRUE(sink_->wait_for(1));
  sink_->answer_with(2);
  EXPECT_EQ(heard.endings.size(), 1U);
}

TEST_F(SchedulerTest, EndsOnlyTheTextWhoseLogitsAreNaN) {
  Heard first, second, third;
  const auto a = make({0}), b = make({1}), c = make({1});
  ASSERT_TRUE(start(a, first).is_ok());
  ASSERT_TRUE(start(b, second).is_ok());
  ASSERT_TRUE(start(c, third).is_ok());
  sink_->answer_with(0);
  auto* logits = static_cast<float*>(sink_->requests.back().outputs[0].data);
  for (int i = 0; i < 9; ++i) logits[i] = i == 4 ? std::numeric_limits<float>::quiet_NaN() : 0;
  sink_->answer(RuntimeCode::kNumericError, 1);  // of nan_policy "fail"
  EXPECT_THAT(first.endings, IsEmpty());
  EXPECT_THAT(second.endings, IsEmpty());
  ASSERT_EQ(third.endings.size(), 1U);
  EXPECT_EQ(third.endings[0].status.code(), Code::kDataLoss);
  a->cancel();
  b->cancel();
}

TEST_F(SchedulerTest, LooksAtDeadlinesBetweenSteps) {
  Heard heard;
  sink_->time.advance(1);
  const auto late = make({0}, {.tokens = {}, .deadline_ns = 1});
  EXPECT_EQ(start(late, heard).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(num_steps(), 0U);
}

}  // namespace
}  // namespace sluice::completions
