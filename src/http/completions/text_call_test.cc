#include "http/completions/text_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TextCall, ReadsACompletionAndLeavesTheRestToTheModel) {
  const auto call = read_completion(
      R"({"model":"m","prompt":"a","temperature":0,"top_k":-1,"stop":"x","stream":true,)"
      R"("stream_options":{"include_usage":true},"seed":-1,"user":"u","n":1,"logprobs":null})");
  ASSERT_TRUE(call.is_ok()) << call.status().message();
  EXPECT_EQ(call->model, "m");
  EXPECT_EQ(call->prompt, "a");
  EXPECT_EQ(call->max_tokens, 16);
  EXPECT_THAT(call->stops, ElementsAre("x"));
  EXPECT_TRUE(call->is_streamed && call->includes_usage && !call->echoes);

  generate::Sampling advice;
  advice.temperature = 0.7F;
  advice.top_k = 50;
  advice.top_p = 0.9F;
  const auto sampling = call->sampling.over(advice, 5);
  EXPECT_EQ(sampling.temperature, 0);
  EXPECT_EQ(sampling.top_k, 0) << "-1 is other servers' all";
  EXPECT_EQ(sampling.top_p, 0.9F);
  EXPECT_EQ(sampling.seed, ~std::uint64_t{0});
  EXPECT_EQ(generate::WantedSampling().over(advice, 5).seed, 5U);
}

TEST(TextCall, ReadsAChat) {
  const auto call = read_chat(
      R"({"model":"m","messages":[{"role":"user","content":"hi","name":"n"}],"max_tokens":3,)"
      R"("max_completion_tokens":4,"chat_template_kwargs":{"deep":true},"tools":[]})");
  ASSERT_TRUE(call.is_ok()) << call.status().message();
  EXPECT_EQ(call->messages.dump(), R"([{"role":"user","content":"hi","name":"n"}])");
  EXPECT_EQ(call->variables.dump(), R"({"deep":true})");
  EXPECT_EQ(call->max_tokens, 4);
}

TEST(TextCall, TakesTritonsParametersInBothPlaces) {
  for (const char* body :
       {R"({"text_input":"a","max_tokens":3,"stop_words":["x"]})",
        R"({"text_input":"a","parameters":{"max_tokens":3,"stop_words":["x"]}})"}) {
    const auto call = read_generate(body);
    ASSERT_TRUE(call.is_ok()) << call.status().message();
    EXPECT_EQ(call->max_tokens, 3);
    EXPECT_THAT(call->stops, ElementsAre("x"));
  }
}

TEST(TextCall, RefusesWhatWouldChangeTheAnswerByItsName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"model":"m","messages":[{"role":"user"}],"tools":[{}]})", "tools: not served"},
      {R"({"model":"m","messages":[{"role":"user"}],"response_format":{"type":"json_object"}})",
       "response_format: not served"},
      {R"({"model":"m","messages":[{"role":"user"}],"logprobs":true})", "logprobs: not served"},
      {R"({"model":"m","messages":[{"role":"user"}],"n":2})", "n: not served"},
      {R"({"model":"m","messages":[{"role":"user"}],"grammar":"x"})", "\"grammar\" is a field"},
      {R"({"model":"m","messages":[{"content":"x"}]})", "role"},
      {R"({"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})",
       "parts of type \"image_url\""},
      {R"({"model":"m","messages":[{"role":"user","content":["x"]}]})", "each part"},
      {R"({"model":"m","messages":[{"role":"user","content":3}]})", "a text or a list of parts"},
      {R"({"model":"m","messages":[]})", "at least one message"},
      {R"({"model":"m","messages":"x"})", "messages: expected a list"},
      {R"({"messages":[{"role":"user"}]})", "model: missing"},
      {"[1]", "no JSON object"},
  };
  for (const auto& [body, expected] : cases) {
    EXPECT_THAT(read_chat(body).status().message(), HasSubstr(expected)) << body;
  }
}

TEST(TextCall, PartsOfTextAreOneText) {
  const auto call = read_chat(
      R"({"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a "},{"type":"text","text":"b"}]}]})");
  ASSERT_TRUE(call.is_ok()) << call.status().to_string();
  EXPECT_EQ(call->messages[0]["content"], "a b");
}

TEST(TextCall, BoundsDepthAndSize) {
  EXPECT_THAT(read_chat(std::string(100'000, '[')).status().message(), HasSubstr("more than 64"));
  EXPECT_THAT(read_chat(std::string(5 << 20, ' ')).status().message(), HasSubstr("at most"));
  const std::string brackets = R"({"model":"m","prompt":")" + std::string(200, '[') + R"(\"["})";
  EXPECT_TRUE(read_completion(brackets).is_ok()) << "brackets in a text are no depth";
  std::string wide = "{\"model\":\"m\",\"prompt\":\"a\"";
  for (int i = 0; i < 100'000; ++i) wide += ",\"a" + std::to_string(i) + "\":1";
  EXPECT_THAT(read_completion(wide + "}").status().message(), HasSubstr("more than 1024 members"));
}

}  // namespace
}  // namespace sluice::http
