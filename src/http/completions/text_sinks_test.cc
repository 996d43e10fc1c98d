#include "http/completions/text_sinks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "completions/testing/scheduler_testing.h"
#include "http/openai_error.h"

namespace sluice::http {
namespace {

using completions::Ending;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Ending ending(bool is_stop, std::int64_t num_prompt_tokens, std::int64_t num_tokens) {
  return {ok_status(), is_stop, num_prompt_tokens, num_tokens};
}

Ending failed(std::string_view why) { return {make_error(Code::kUnavailable, "{}", why)}; }

std::unique_ptr<TextFormat> format(std::size_t num_prompts, std::size_t choices,
                                   bool is_chat = false) {
  return make_openai_format({"m", is_chat, /*includes_usage=*/true, num_prompts, choices});
}

/// The data of each event; "[DONE]" as a text.
std::vector<json> events_of(const std::string& bytes) {
  std::vector<json> events;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = bytes.find("\n\n", at);
    const std::string data = bytes.substr(at + 6, end - at - 6);
    events.push_back(data == "[DONE]" ? json(data) : json::parse(data));
    at = end + 2;
  }
  return events;
}

class TextSinksTest : public ::testing::Test {
 protected:
  TextSinks whole(std::unique_ptr<TextFormat> how, std::vector<std::string> echoed) {
    return make_whole_sinks(
        std::move(how), std::move(echoed), [this](Reply reply) { replies_.push_back(reply); },
        openai_error, [this] { ++num_cancelled_; });
  }
  TextSinks streamed(std::unique_ptr<TextFormat> how, const std::vector<std::string>& echoed) {
    return make_stream_sinks(std::move(how), echoed, stream_, [this] { ++num_cancelled_; });
  }

  std::vector<Reply> replies_;
  int num_cancelled_ = 0;
  std::shared_ptr<ReplyStream> stream_ = std::make_shared<ReplyStream>([] {});
};

TEST_F(TextSinksTest, ChoicesAreOneAnswerInTheirOrder) {
  const auto sinks = whole(format(2, 2), {"", "", "b", "b"});
  for (const int choice : {3, 1, 0, 2}) {
    EXPECT_THAT(replies_, IsEmpty());
    sinks[choice]->take({std::to_string(choice)});
    sinks[choice]->take({"!"});
    sinks[choice]->end(ending(choice == 1, choice < 2 ? 5 : 7, choice));
  }
  ASSERT_EQ(replies_.size(), 1U);
  const json answer = json::parse(replies_[0].text);
  std::vector<std::string> texts;
  for (const json& choice : answer["choices"]) {
    EXPECT_EQ(choice["index"], texts.size());
    EXPECT_EQ(choice["finish_reason"], texts.size() == 1 ? "stop" : "length");
    texts.push_back(choice["text"]);
  }
  EXPECT_THAT(texts, ElementsAre("0!", "1!", "b2!", "b3!"));
  EXPECT_EQ(answer["usage"],
            json::parse(R"({"prompt_tokens":12,"prompt_tokens_details":{"cached_tokens":0},
                            "completion_tokens":6,"total_tokens":18})"))
      << "a prompt counts once";
  EXPECT_EQ(num_cancelled_, 0);
}

TEST_F(TextSinksTest, FirstFailureIsTheAnswerAndEndsTheOthers) {
  const auto sinks = whole(format(3, 1), {"", "", ""});
  sinks[2]->take({"a"});
  sinks[2]->end(ending(true, 1, 1));
  sinks[0]->end(failed("no pages"));
  EXPECT_EQ(num_cancelled_, 1);
  EXPECT_TRUE(sinks[1]->take({"late"}));
  sinks[1]->end(failed("cancelled"));
  ASSERT_EQ(replies_.size(), 1U);
  EXPECT_EQ(replies_[0].status, 503);
  EXPECT_THAT(replies_[0].text, HasSubstr("no pages"));
  EXPECT_EQ(num_cancelled_, 1);
}

TEST_F(TextSinksTest, EventsOfChoicesComeBetweenEachOtherByTheirIndex) {
  const auto sinks = streamed(format(1, 2, /*is_chat=*/true), {"", ""});
  sinks[1]->take({"b"});
  sinks[0]->take({"a"});
  sinks[1]->end(ending(true, 4, 1));
  sinks[0]->take({"c"});
  EXPECT_FALSE(stream_->is_over());
  sinks[0]->end(ending(false, 4, 2));
  const auto events = events_of(stream_->take());
  EXPECT_TRUE(stream_->is_over());
  ASSERT_EQ(events.size(), 9U);
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < 7; ++i) {
    const json& choice = events[i]["choices"][0];
    EXPECT_EQ(events[i]["id"], events[0]["id"]);
    const json reason = choice["finish_reason"];
    seen.push_back(choice["index"].dump() + (reason.is_null()
                                                 ? choice["delta"].value("content", "?")
                                                 : reason.get<std::string>()));
  }
  EXPECT_THAT(seen, ElementsAre("0", "1", "1b", "0a", "1stop", "0c", "0length"));
  EXPECT_THAT(events[7]["choices"], IsEmpty());
  EXPECT_EQ(events[7]["usage"]["total_tokens"], 7);
  EXPECT_EQ(events[8], "[DONE]");
}

TEST_F(TextSinksTest, StreamEndsBehindTheFirstFailure) {
  const auto sinks = streamed(format(2, 1), {"x", ""});
  sinks[1]->end(failed("gone"));
  sinks[0]->take({"late"});
  sinks[0]->end(ending(true, 1, 1));
  const auto events = events_of(stream_->take());
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0]["choices"][0]["text"], "x");
  EXPECT_THAT(events[1]["error"]["message"].get<std::string>(), HasSubstr("gone"));
  EXPECT_TRUE(stream_->is_over());
  EXPECT_EQ(num_cancelled_, 1);
}

TEST_F(TextSinksTest, LogProbabilitiesAreThoseOfTheirChoice) {
  const auto sinks = whole(format(1, 2), {"", ""});
  sinks[1]->take({"b", {{"b", -2}}});
  sinks[0]->take({"a", {{"a", -1}}});
  for (const auto& sink : sinks) sink->end(ending(true, 1, 1));
  const json answer = json::parse(replies_.at(0).text);
  EXPECT_EQ(answer["choices"][0]["logprobs"]["token_logprobs"], json::parse("[-1]"));
  EXPECT_EQ(answer["choices"][1]["logprobs"]["tokens"], json::parse(R"(["b"])"));
}

using StartTextsTest = completions::SchedulerTest;

TEST_F(StartTextsTest, StreamTellsWhyTheFirstTextFailedBeforeTheNextOneStarted) {
  sink_->fails_at_once = true;
  const std::vector<std::shared_ptr<completions::Generation>> texts = {make({0}), make({1})};
  std::atomic<bool> has_failed = false;
  const auto stream = std::make_shared<ReplyStream>([] {});
  auto sinks = make_stream_sinks(format(1, 2), {"", ""}, stream, [&] {
    has_failed = true;
    for (const auto& text : texts) text->cancel();
  });
  EXPECT_TRUE(start_texts(texts, std::move(sinks), has_failed).is_ok());
  EXPECT_THAT(stream->take(), HasSubstr("the run failed"));
  EXPECT_TRUE(stream->is_over());
  EXPECT_EQ(shared_.num_texts, 0);
}

TEST_F(StartTextsTest, RefusalIsAnErrorWhereNoTextHasFailed) {
  const std::vector<std::shared_ptr<completions::Generation>> texts = {make({0})};
  sink_->refusal = make_error(Code::kUnavailable, "it is gone");
  const auto stream = std::make_shared<ReplyStream>([] {});
  auto sinks = make_stream_sinks(format(1, 1), {""}, stream, [] {});
  EXPECT_EQ(start_texts(texts, std::move(sinks), false).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace sluice::http
