#include "generate/facts.h"

#include <gtest/gtest.h>

namespace sluice::generate {
namespace {

TEST(Facts, AreReadWithTheAdviceToSample) {
  const auto facts = parse_facts(
      R"({"context":128,"stop":[1,7],"do_sample":true,"temperature":0.5,"top_k":20,"top_p":0.9})");
  ASSERT_TRUE(facts.is_ok()) << facts.status().message();
  EXPECT_EQ(facts->context, 128);
  EXPECT_EQ(facts->stops, (std::vector<std::int64_t>{1, 7}));
  EXPECT_EQ(facts->sampling.temperature, 0.5F);
  EXPECT_EQ(facts->sampling.top_k, 20);
  EXPECT_EQ(facts->sampling.top_p, 0.9F);
}

TEST(Facts, AreGreedyWithoutThatAdvice) {
  const auto facts = parse_facts(R"({"context":1,"temperature":0.5})");
  ASSERT_TRUE(facts.is_ok()) << facts.status().message();
  EXPECT_EQ(facts->sampling.temperature, 0);
  EXPECT_TRUE(facts->stops.empty());
}

TEST(Facts, NumberAdapters) {
  const auto facts = parse_facts(R"({"context":1,"adapters":["sql","chat"]})");
  ASSERT_TRUE(facts.is_ok()) << facts.status().message();
  EXPECT_EQ(find_adapter(*facts, "").value(), -1);
  EXPECT_EQ(find_adapter(*facts, "sql").value(), 0);
  EXPECT_EQ(find_adapter(*facts, "chat").value(), 1);
  const auto other = find_adapter(*facts, "Chat");
  EXPECT_EQ(other.status().code(), Code::kNotFound);
  EXPECT_NE(other.status().message().find("sql, chat"), std::string::npos);
  EXPECT_EQ(find_adapter(Facts(), "sql").status().code(), Code::kNotFound);
}

TEST(Facts, NameTheFieldThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "context: missing"},
      {R"({"context":0})", "context"},
      {R"({"context":1,"stop":[-1]})", "stop[0]"},
      {R"({"context":1,"adapters":[1]})", "adapters[0]"},
      {R"({"context":1,"do_sample":true,"top_p":7})", "top_p"},
      {R"({"context":1,"do_sample":true,"top_p":"x"})", "top_p"},
      {"[", "not JSON"},
  };
  for (const auto& [text, message] : cases) {
    const auto facts = parse_facts(text);
    ASSERT_FALSE(facts.is_ok()) << text;
    EXPECT_NE(facts.status().message().find(message), std::string::npos)
        << facts.status().message();
  }
}

}  // namespace
}  // namespace sluice::generate
