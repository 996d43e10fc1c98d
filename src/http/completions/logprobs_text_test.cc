#include "http/completions/logprobs_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>

namespace sluice::http {
namespace {

using nlohmann::json;

TEST(LogprobsText, WritesAnObjectForEachTokenOfAChat) {
  LogprobsText text(/*is_chat=*/true);
  EXPECT_EQ(text.take(), "null");
  text.add({"", {{" the", -0.5F}, {"\xE4", -0.25F}, {" the", -0.5F}}});
  text.add({"rest"});
  text.add({"", {{"\xB8\xAD", -2}}});
  const json found = json::parse(text.take());
  ASSERT_EQ(found["content"].size(), 2U);
  const json& first = found["content"][0];
  EXPECT_EQ(first["token"], " the");
  EXPECT_EQ(first["logprob"], -0.5);
  EXPECT_EQ(first["bytes"], json({32, 116, 104, 101}));
  EXPECT_EQ(first["top_logprobs"][0],
            json({{"token", "bytes:\\xe4"}, {"logprob", -0.25}, {"bytes", {0xE4}}}));
  EXPECT_EQ(first["top_logprobs"].size(), 2U);
  EXPECT_EQ(found["content"][1]["bytes"], json({0xB8, 0xAD}));
  EXPECT_EQ(found["content"][1]["top_logprobs"], json::array());
  EXPECT_EQ(text.take(), "null") << "given once";
}

TEST(LogprobsText, WritesListsForACompletion) {
  LogprobsText text(/*is_chat=*/false);
  text.add({"", {{"h\xC3\xA9", -1}, {"x", -0.5F}}, 0});
  text.add({"", {{"\xE4", -1}}, 2});
  text.add({"", {{"\xB8\xAD", -1}}, 3});
  json found = json::parse(text.take());
  EXPECT_EQ(found["tokens"], json({"h\xC3\xA9", "bytes:\\xe4", "bytes:\\xb8\\xad"}));
  EXPECT_EQ(found["token_logprobs"], json({-1.0, -1.0, -1.0}));
  EXPECT_EQ(found["top_logprobs"][0], json({{"x", -0.5}, {"h\xC3\xA9", -1.0}}))
      << "the token itself, too";
  EXPECT_EQ(found["text_offset"], json({0, 2, 3}));
  text.add({"", {{"\"\n", -std::numeric_limits<float>::infinity()}}, 3});
  found = json::parse(text.take());
  EXPECT_EQ(found["text_offset"], json({3})) << "of this piece alone";
  EXPECT_EQ(found["token_logprobs"], json({-9999.0}));
  EXPECT_EQ(found["tokens"], json({"\"\n"}));
}

}  // namespace
}  // namespace sluice::http
