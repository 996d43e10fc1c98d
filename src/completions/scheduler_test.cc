#include "completions/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "completions/generation.h"
#include "terms/runtime_code.h"

namespace sluice::completions {
namespace {

using runtime::Reply;
using runtime::Request;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Longs = std::vector<std::int64_t>;

constexpr std::int64_t kContext = 1000;
constexpr std::int64_t kVocabulary = 3;  ///< "a", "b", and 2, which ends texts
constexpr std::int64_t kPageBytes = 2 * 32 * 4;

/// Keeps requests until `answer`.
class FakeSink final : public runtime::RequestSink {
 public:
  FakeSink() {
    const auto add = [](std::vector<terms::TensorSpec>& to, const char* name, const char* type) {
      to.push_back({name, ir::parse_type(type).value()});
    };
    for (const char* name : {"ids", "positions", "sequences"}) {
      add(signature_.inputs, name, "i64[S]");
    }
    add(signature_.inputs, "tables", "i64[N,B]");
    add(signature_.inputs, "last", "i64[N]");
    add(signature_.outputs, "logits", "f32[N,3]");
    for (const char* name : {"state.keys.0", "state.values.0"}) {
      add(signature_.inputs, name, "f32[P,1,32,1]");
      add(signature_.outputs, (std::string(name) + ".next").c_str(), "f32[P,1,32,1]");
    }
  }
  const terms::Signature& signature() const override { return signature_; }
  int depth() const override { return 1; }
  Clock& clock() const override { return time; }
  Result<std::uint64_t> submit(Request& request) override {
    const std::lock_guard lock(mutex);
    if (!refusal.is_ok()) {
      ++num_refused;
      changed.notify_all();
      return refusal;
    }
    changed.notify_all();
    requests.push_back(std::move(request));
    return requests.size();
  }
  bool cancel(std::uint64_t id) override {
    answer(RuntimeCode::kCancelled, static_cast<std::size_t>(id - 1));
    return true;
  }
  bool wait(const std::function<bool()>& is_done, std::int64_t) override { return is_done(); }
  void tell_waiters() override {}

  /// Every text's next token is `token`.
  void answer_with(std::int64_t token) {
    const auto& [memory, bytes] = requests.back().outputs[0];
    auto* logits = static_cast<float*>(memory);
    for (std::int64_t i = 0; i < bytes / 4; ++i) logits[i] = i % kVocabulary == token ? 1 : 0;
    answer(RuntimeCode::kOk, requests.size() - 1);
  }
  void answer(RuntimeCode code, std::size_t i) {
    Reply reply;
    reply.code = code;
    if (code != RuntimeCode::kOk) reply.errors.add(terms::runtime_error(code, "the run failed"));
    const auto on_done = std::exchange(requests[i].on_done, nullptr);
    if (on_done != nullptr) on_done(reply);
  }
  Longs numbers(std::size_t input) const {
    const terms::TensorView& view = requests.back().inputs[input];
    const auto* first = static_cast<const std::int64_t*>(view.data);
    return Longs(first, first + view.size_bytes / 8);
  }

  /// Until another thread has brought so many.
  bool wait_for(std::size_t num_steps, int refused = 0) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::minutes(1),
                            [&] { return requests.size() >= num_steps && num_refused >= refused; });
  }
  void refuse(Status status) {
    const std::lock_guard lock(mutex);
    refusal = std::move(status);
  }

  mutable ManualClock time;
  std::mutex mutex;  ///< of what follows, where the retry thread submits
  std::condition_variable changed;
  Status refusal;
  int num_refused = 0;
  std::vector<Request> requests;

 private:
  terms::Signature signature_;
};

struct Heard {
  std::string text;
  std::vector<Ending> endings;
  bool is_full = false;
};

class HearingSink final : public TextSink {
 public:
  explicit HearingSink(Heard& heard) : heard_(heard) {}
  bool take(const std::string& text) override {
    heard_.text += text;
    return !heard_.is_full;
  }
  void end(const Ending& ending) override { heard_.endings.push_back(ending); }

 private:
  Heard& heard_;
};

class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTest() {
    generate::Facts facts;
    facts.context = kContext;
    facts.stops = {2};
    const auto ports = generate::find_ports(sink_->signature()).value();
    auto tokenizer = text::Tokenizer::read(
        R"({"version":"1.0","model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2},"merges":[]}})");
    language_ = std::make_shared<const LanguageModel>(
        LanguageModel{facts, ports, std::move(tokenizer).value(), Status(Code::kNotFound, "none"),
                      std::make_shared<Scheduler>(facts, ports)});
    budget(1 << 20);
  }
  ~SchedulerTest() override { sink_->requests.clear(); }

  void budget(std::int64_t bytes) { shared_.caches = std::make_shared<ByteBudget>(bytes); }

  std::shared_ptr<Generation> make(Longs prompt, TextRequest request = {}) {
    request.tokens.prompt = std::move(prompt);
    auto made = Generation::create(model_, language_, std::move(request), shared_, quota_);
    return std::move(made).value();
  }
  Status start(const std::shared_ptr<Generation>& text, Heard& heard) {
    return text->start(std::make_shared<HearingSink>(heard));
  }
  std::size_t num_steps() const { return sink_->requests.size(); }

  std::shared_ptr<FakeSink> sink_ = std::make_shared<FakeSink>();
  std::shared_ptr<dispatch::ModelRef> model_ =
      std::make_shared<dispatch::ModelRef>(sink_, std::vector<bool>(), false);
  std::shared_ptr<dispatch::RequestQuota> quota_ = std::make_shared<dispatch::RequestQuota>(99);
  Shared shared_;
  std::shared_ptr<const LanguageModel> language_;
};

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

TEST_F(SchedulerTest, GivesPagesBackWhenTextsEnd) {
  for (int round = 0; round < 3; ++round) {
    Heard heard[4];
    std::vector<std::shared_ptr<Generation>> texts;
    for (Heard& one : heard) {
      texts.push_back(make(Longs(40, 0)));
      ASSERT_TRUE(start(texts.back(), one).is_ok());
    }
    sink_->answer_with(0);
    EXPECT_EQ(shared_.caches->held_bytes(), 8 * kPageBytes);
    texts[1]->cancel();
    EXPECT_EQ(shared_.caches->held_bytes(), 8 * kPageBytes) << "its run may still write";
    sink_->answer_with(1);
    EXPECT_EQ(shared_.caches->held_bytes(), 6 * kPageBytes) << "though others live";
    sink_->answer_with(2);
    EXPECT_EQ(shared_.num_texts, 0);
    sink_->requests.clear();
    EXPECT_EQ(shared_.caches->held_bytes(), 0);
  }
}

TEST_F(SchedulerTest, RefusesTextsThatFindNoPages) {
  budget(3 * kPageBytes);
  Heard first, second, third;
  const auto a = make(Longs(64, 0)), b = make(Longs(40, 1)), c = make(Longs(97, 0));
  ASSERT_TRUE(start(a, first).is_ok());
  ASSERT_TRUE(start(b, second).is_ok());
  sink_->answer_with(0);
  ASSERT_EQ(second.endings.size(), 1U);
  EXPECT_EQ(second.endings[0].status.code(), Code::kResourceExhausted);
  sink_->answer_with(2);
  EXPECT_EQ(first.text, "a");
  sink_->requests.clear();
  EXPECT_EQ(start(c, third).code(), Code::kResourceExhausted);
  EXPECT_THAT(third.endings, IsEmpty()) << "its start failed";
  EXPECT_EQ(quota_->num_in_flight(), 0);
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
