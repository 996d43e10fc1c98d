#include "http/openai_error.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "terms/runtime_code.h"

namespace sluice::http {
namespace {

using nlohmann::json;

json error_of(const Reply& reply) { return json::parse(reply.text)["error"]; }

TEST(OpenAiError, WhatIsNotServedIsForTheClientToMend) {
  const Reply reply = openai_error(unimplemented("logit_bias: not served yet; leave it out"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(error_of(reply), json::parse(R"({"message":"logit_bias: not served yet; leave it out",
      "type":"invalid_request_error","param":"logit_bias","code":"unsupported_parameter"})"));
}

TEST(OpenAiError, ParamIsTheFieldThatTheMessageBeginsWith) {
  const std::pair<const char*, json> cases[] = {{"prompt[3]: the text is empty", "prompt[3]"},
                                                {"messages: expected a list", "messages"},
                                                {"model \"x\": it generates no text", nullptr},
                                                {"the body is no JSON object", nullptr},
                                                {": x", nullptr},
                                                {"a:b", nullptr},
                                                {"", nullptr}};
  for (const auto& [message, param] : cases) {
    EXPECT_EQ(error_of(openai_error(invalid_argument("{}", message)))["param"], param) << message;
  }
  const Status fault = make_error(Code::kInternal, "{}", "arena: no room");
  EXPECT_EQ(error_of(openai_error(fault))["param"], nullptr) << "no field of the request";
}

TEST(OpenAiError, FullLinesAskTheClientToWait) {
  const Reply full =
      openai_error(terms::runtime_error(RuntimeCode::kQueueFull, "{}", "2 requests"));
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(error_of(full)["type"], "rate_limit_error");
  EXPECT_EQ(error_of(full)["code"], "rate_limit_exceeded");
  EXPECT_EQ(full.fields, "Retry-After: 1\r\n");
  const Reply draining = openai_error(make_error(Code::kUnavailable, "{}", "shutting down"));
  EXPECT_EQ(draining.status, 503);
  EXPECT_EQ(draining.fields, "Retry-After: 1\r\n");
}

TEST(OpenAiError, ClientThatWentIsNoFaultOfItsRequest) {
  EXPECT_EQ(openai_error(make_error(Code::kCancelled, "{}", "the text was cancelled")).status, 499);
}

TEST(OpenAiError, PathsAreNotModels) {
  const Reply path = no_openai_path();
  EXPECT_EQ(path.status, 404);
  EXPECT_EQ(error_of(path)["code"], "unknown_url");
  EXPECT_EQ(error_of(openai_error(make_error(Code::kNotFound, "{}", "no model")))["code"],
            "model_not_found");
  EXPECT_EQ(wrong_openai_method("POST").allow, "POST");
}

}  // namespace
}  // namespace sluice::http
