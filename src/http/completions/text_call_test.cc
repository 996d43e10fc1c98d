#include "http/completions/text_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

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
  ASSERT_EQ(call->prompts.size(), 1U);
  EXPECT_EQ(call->prompts[0].text, "a");
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

TEST(TextCall, TakesASeedInAnyFormOfAWholeNumber) {
  const auto seed = [](const std::string& text) {
    const auto call = read_completion(R"({"model":"m","prompt":"a","seed":)" + text + "}");
    return call.is_ok() ? call->sampling.seed : std::nullopt;
  };
  EXPECT_EQ(seed("5.0"), 5U);
  EXPECT_EQ(seed("1e3"), 1000U);
  EXPECT_EQ(seed("-1.0"), ~std::uint64_t{0});
  EXPECT_EQ(seed("18446744073709551615"), ~std::uint64_t{0});
  for (const char* text : {"5.5", "1e30", "\"5\"", "true"}) EXPECT_EQ(seed(text), std::nullopt);
}

TEST(TextCall, ReadsSeveralPromptsOfEitherKind) {
  const auto read = [](const std::string& fields) {
    return read_completion(R"({"model":"m",)" + fields + "}");
  };
  const auto call = read(R"("prompt":["a",[3,4],"b"],"n":3,"best_of":3)");
  ASSERT_TRUE(call.is_ok()) << call.status().message();
  EXPECT_EQ(call->num_choices, 3);
  ASSERT_EQ(call->prompts.size(), 3U);
  EXPECT_EQ(call->prompts[0].text, "a");
  EXPECT_THAT(call->prompts[1].ids, ElementsAre(3, 4));
  EXPECT_EQ(call->prompts[2].text, "b");
  EXPECT_EQ(read(R"("prompt":[3,4])")->prompts.size(), 1U);

  const auto several = [](int count) {
    std::string list = "\"x\"";
    for (int i = 1; i < count; ++i) list += ",\"x\"";
    return R"("prompt":[)" + list + "]";
  };
  EXPECT_EQ(read(several(128))->prompts.size(), 128U);
  EXPECT_EQ(read(several(64) + R"(,"n":2)")->prompts.size(), 64U);
  const std::pair<std::string, const char*> cases[] = {
      {several(129), "prompt: 129 prompts, 129 choices in all; at most 128 are taken"},
      {several(65) + R"(,"n":2)", "65 prompts, 130 choices in all"},
      {R"("prompt":["a",""])", "prompt[1]: the text is empty"},
      {R"("prompt":["a",[]])", "prompt[1]: expected"},
      {R"("prompt":["a",3])", "prompt[1]: expected"},
      {R"("prompt":[[3],[-1]])", "prompt[1]: -1 is not between"},
      {R"("prompt":[3,"a"])", "prompt: expected a whole number"},
      {R"("prompt":"a","n":2,"best_of":3)", "best_of: not served"}};
  for (const auto& [fields, expected] : cases) {
    EXPECT_THAT(read(fields).status().message(), HasSubstr(expected)) << fields;
  }
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

TEST(TextCall, ReadsHowManyLogProbabilitiesAreWanted) {
  const auto of_chat = [](const std::string& fields) {
    return read_chat(R"({"model":"m","messages":[{"role":"user"}])" + fields + "}")->top_logprobs;
  };
  EXPECT_EQ(of_chat(""), std::nullopt);
  EXPECT_EQ(of_chat(R"(,"logprobs":false,"top_logprobs":0)"), std::nullopt);
  EXPECT_EQ(of_chat(R"(,"logprobs":true)"), 0);
  EXPECT_EQ(of_chat(R"(,"logprobs":true,"top_logprobs":20)"), 20);
  EXPECT_EQ(read_completion(R"({"model":"m","prompt":"a","logprobs":5})")->top_logprobs, 5);
  EXPECT_THAT(
      read_completion(R"({"model":"m","prompt":"a","logprobs":0,"echo":true})").status().message(),
      HasSubstr("leave out echo"));
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

TEST(TextCall, ReadsWhatClientsOfTensorRtSay) {
  const auto call = read_generate(
      R"({"text_input":"a","max_tokens":3,"bad_words":"","stop_words":"","random_seed":7,"end_id":2,)"
      R"("pad_id":2,"beam_width":1,"return_log_probs":false,"temperature":1.0,"length_penalty":1})");
  ASSERT_TRUE(call.is_ok()) << call.status().message();
  EXPECT_EQ(call->sampling.seed, 7U);
  EXPECT_THAT(call->stop_ids, ElementsAre(2));
  EXPECT_TRUE(call->bad_words.empty());
  for (const char* field : {R"("beam_width":2)", R"("return_log_probs":true)"}) {
    const Status refused =
        read_generate(std::string(R"({"text_input":"a",)") + field + "}").status();
    EXPECT_EQ(refused.code(), Code::kUnimplemented) << field;
  }
  EXPECT_FALSE(read_completion(R"({"model":"m","prompt":"a","random_seed":7})").is_ok());
}

TEST(TextCall, ReadsPenaltiesBiasesAndBadWords) {
  const auto call = read_chat(
      R"({"model":"m","messages":[{"role":"user"}],"presence_penalty":0.5,"frequency_penalty":-2,)"
      R"("logit_bias":{"15":-100,"7":2.5},"bad_words":["a","b"]})");
  ASSERT_TRUE(call.is_ok()) << call.status().message();
  const auto sampling = call->sampling.over({}, 0);
  EXPECT_EQ(sampling.presence_penalty, 0.5F);
  EXPECT_EQ(sampling.frequency_penalty, -2);
  ASSERT_EQ(sampling.logit_bias.size(), 2U);
  EXPECT_EQ(sampling.logit_bias[1].id, 7);
  EXPECT_EQ(sampling.logit_bias[1].bias, 2.5F);
  EXPECT_THAT(call->bad_words, ElementsAre("a", "b"));
  for (const char* bias : {"[]", R"({"1.5":1})", R"({"":1})", R"({"3":"1"})", R"({"x3":1})"}) {
    const std::string body = R"({"model":"m","prompt":"a","logit_bias":)";
    EXPECT_THAT(read_completion(body + bias + "}").status().message(),
                HasSubstr("logit_bias: expected"))
        << bias;
  }
}

TEST(TextCall, RefusesWhatWouldChangeTheAnswerByItsName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"model":"m","messages":[{"role":"user"}],"top_logprobs":2})", "only with"},
      {R"({"model":"m","messages":[{"role":"user"}],"logprobs":true,"top_logprobs":21})",
       "top_logprobs: 21"},
      {R"({"model":"m","messages":[{"role":"user"}],"n":0})", "n: 0 is not between 1 and 128"},
      {R"({"model":"m","messages":[{"role":"user"}],"n":129})", "n: 129 is not between"},
      {R"({"model":"m","messages":[{"role":"user"}],"tools":[{}]})", "tools: each is an object"},
      {R"({"model":"m","messages":[{"role":"user"}],"tool_choice":"required"})", "only with tools"},
      {R"({"model":"m","messages":[{"role":"user"}],"response_format":{"type":"xml"}})",
       "response_format: \"type\""},
      {R"({"model":"m","messages":[{"role":"user"}],"response_format":{"type":"json_schema"}})",
       "an object with a \"schema\""},
      {R"({"model":"m","messages":[{"role":"user"}],"grammar":"x","response_format":{"type":"json_object"}})",
       "grammar: only without"},
      {R"({"model":"m","messages":[{"role":"user"}],"gramar":"x"})", "\"gramar\" is a field"},
      {R"({"model":"m","messages":[{"content":"x"}]})", "role"},
      {R"({"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})",
       "parts of type \"image_url\""},
      {R"({"model":"m","messages":[{"role":"user","content":[3]}]})", "each part"},
      {R"({"model":"m","messages":[{"role":"user","content":3}]})", "a text or a list of parts"},
      {R"({"model":"m","messages":[]})", "at least one message"},
      {R"({"model":"m","messages":[{"role":"user"}],"chat_template_kwargs":{"messages":[]}})",
       "\"messages\" is the request's own"},
      {R"({"model":"m","messages":"x"})", "messages: expected a list"},
      {R"({"messages":[{"role":"user"}]})", "model: missing"},
      {"[1]", "no JSON object"},
  };
  for (const auto& [body, expected] : cases) {
    EXPECT_THAT(read_chat(body).status().message(), HasSubstr(expected)) << body;
  }
}

TEST(TextCall, GrammarsAndSchemasKeepTheirForm) {
  using grammar::Source;
  const std::pair<const char*, Source> cases[] = {
      {R"("grammar":"root ::= \"a\"")", {Source::Form::kGbnf, "root ::= \"a\""}},
      {R"("response_format":{"type":"text"})", {}},
      {R"("response_format":{"type":"json_object"})",
       {Source::Form::kSchema, R"({"type":"object"})"}},
      {R"("response_format":{"type":"json_object","schema":{"b":1,"a":2}})",
       {Source::Form::kSchema, R"({"b":1,"a":2})"}},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"b":1,"a":2}}})",
       {Source::Form::kLooseSchema, R"({"b":1,"a":2})"}},
      {R"("response_format":{"type":"json_schema","json_schema":{"strict":true,"schema":{"b":1}}})",
       {Source::Form::kSchema, R"({"b":1})"}}};
  for (const auto& [field, expected] : cases) {
    const auto chat =
        read_chat(std::string(R"({"model":"m","messages":[{"role":"user"}],)") + field + "}");
    ASSERT_TRUE(chat.is_ok()) << chat.status().message();
    EXPECT_EQ(chat->grammar, expected) << field;
    const auto completion =
        read_completion(std::string(R"({"model":"m","prompt":"a",)") + field + "}");
    ASSERT_TRUE(completion.is_ok()) << completion.status().message();
    EXPECT_EQ(completion->grammar, expected) << field;
  }
}

TEST(TextCall, PartsOfTextAreOneText) {
  const auto call = read_chat(
      R"({"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a "},{"type":"text","text":"b"}]}]})");
  ASSERT_TRUE(call.is_ok()) << call.status().to_string();
  EXPECT_EQ(call->messages[0]["content"], "a b");
}

TEST(TextCall, MessageWithoutContentHasAnEmptyOne) {
  const auto call = read_chat(
      R"({"model":"m","messages":[{"role":"user","content":null},{"role":"assistant"}]})");
  ASSERT_TRUE(call.is_ok()) << call.status().to_string();
  EXPECT_EQ(call->messages.dump(),
            R"([{"role":"user","content":""},{"role":"assistant","content":""}])");
}

TEST(TextCall, CountsMayBeWrittenWithAPoint) {
  const auto call =
      read_completion(R"({"model":"m","prompt":[1.0,2],"max_tokens":1e1,"top_k":5.0,"n":2.0})");
  ASSERT_TRUE(call.is_ok()) << call.status().message();
  EXPECT_EQ(call->max_tokens, 10);
  EXPECT_EQ(call->sampling.top_k, 5);
  EXPECT_THAT(call->prompts[0].ids, ElementsAre(1, 2));
  for (const char* count : {"1.5", "1e300", "-1e300", "true", "\"3\"", "18446744073709551615"}) {
    const auto body = std::string(R"({"model":"m","prompt":"a","max_tokens":)") + count + "}";
    EXPECT_THAT(read_completion(body).status().message(), HasSubstr("max_tokens: ")) << count;
  }
}

TEST(TextCall, PartsOfAnswersThatClientsSendBackAreTexts) {
  const auto call = read_chat(
      R"({"model":"m","messages":[{"role":"assistant","content":["a ",{"type":"output_text",)"
      R"("text":"b "},{"type":"refusal","refusal":"c"}]}]})");
  ASSERT_TRUE(call.is_ok()) << call.status().to_string();
  EXPECT_EQ(call->messages[0]["content"], "a b c");
}

TEST(TextCall, FieldsThatSayWhatHoldsAnywayAreTaken) {
  const auto chat = read_chat(
      R"({"model":"m","messages":[{"role":"user"}],"function_call":"none","ignore_eos":false,)"
      R"("skip_special_tokens":true,"add_generation_prompt":true,"verbosity":"medium",)"
      R"("prompt_cache_retention":"24h","prediction":{"type":"content","content":"x"}})");
  EXPECT_TRUE(chat.is_ok()) << chat.status().message();
  for (const char* field : {R"("ignore_eos":true)", R"("skip_special_tokens":false)"}) {
    const auto body = std::string(R"({"model":"m","prompt":"a",)") + field + "}";
    EXPECT_THAT(read_completion(body).status().message(), HasSubstr("not served")) << field;
  }
  EXPECT_THAT(
      read_generate(R"({"text_input":"a","exclude_input_in_output":"false"})").status().message(),
      HasSubstr("exclude_input_in_output: expected"));
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
