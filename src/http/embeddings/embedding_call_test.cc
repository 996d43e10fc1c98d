#include "http/embeddings/embedding_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace sluice::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(EmbeddingCall, TakesTextsAndTokensAloneAndInLists) {
  using Texts = std::vector<std::string>;
  using Ids = std::vector<std::vector<std::int64_t>>;
  const struct {
    const char* input;
    Texts texts;
    Ids ids;
  } cases[] = {{R"("a")", {"a"}, {}},
               {R"(["a","b"])", {"a", "b"}, {}},
               {"[1,2]", {}, {{1, 2}}},
               {"[[1],[2,3]]", {}, {{1}, {2, 3}}}};
  for (const auto& one : cases) {
    const auto call =
        read_embedding(std::string(R"({"model":"m","user":"u","input":)") + one.input + "}");
    ASSERT_TRUE(call.is_ok()) << call.status().message();
    EXPECT_EQ(call->texts, one.texts);
    EXPECT_EQ(call->ids, one.ids);
  }
  const auto call = read_embedding(
      R"({"model":"m","input":"a","encoding_format":"base64","dimensions":4,"timeout":5})");
  ASSERT_TRUE(call.is_ok()) << call.status().message();
  EXPECT_TRUE(call->is_base64);
  EXPECT_EQ(call->dimensions, 4);
  EXPECT_EQ(call->timeout_us, 5);
}

TEST(EmbeddingCall, RefusesWhatItCannotRead) {
  std::string many = R"({"model":"m","input":["a")";
  for (std::size_t i = 0; i < kMaxTexts; ++i) many += ",\"a\"";
  const std::pair<std::string, const char*> cases[] = {
      {R"({"model":"m"})", "input: expected"},
      {R"({"input":"a"})", "model: missing"},
      {R"({"model":"m","input":[]})", "input: expected"},
      {R"({"model":"m","input":{}})", "input: expected"},
      {R"({"model":"m","input":["a",3]})", "input[1]: expected a text"},
      {R"({"model":"m","input":[[1],"a"]})", "input[1]: expected a list of ids"},
      {R"({"model":"m","input":[1,"a"]})", "input[0]: expected a whole number"},
      {R"({"model":"m","input":["a",""]})", "input[1]: it is empty"},
      {R"({"model":"m","input":[[1],[]]})", "input[1]: it is empty"},
      {R"({"model":"m","input":[[-1]]})", "not between"},
      {R"({"model":"m","input":"a","dimensions":0})", "dimensions"},
      {R"({"model":"m","input":"a","encoding_format":"f16"})", "encoding_format"},
      {R"({"model":"m","input":"a","truncate":"START"})", "truncate: expected"},
      {many + "]}", "a list of 2049"},
      {"[", ""}};
  for (const auto& [body, expected] : cases) {
    const auto call = read_embedding(body);
    ASSERT_FALSE(call.is_ok()) << body.substr(0, 100);
    EXPECT_THAT(call.status().message(), HasSubstr(expected));
  }
}

TEST(RerankCall, TakesDocumentsInBothForms) {
  const auto call = read_rerank(
      R"({"model":"m","query":"q","documents":["a",{"text":"b"}],"top_n":1,"return_documents":true})");
  ASSERT_TRUE(call.is_ok()) << call.status().message();
  EXPECT_EQ(call->query, "q");
  EXPECT_THAT(call->documents, ElementsAre("a", "b"));
  EXPECT_EQ(call->top_n, 1);
  EXPECT_TRUE(call->returns_documents);
}

TEST(RerankCall, RefusesWhatItCannotRead) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"model":"m","documents":["a"]})", "query: missing"},
      {R"({"model":"m","query":"q"})", "documents: expected a list"},
      {R"({"model":"m","query":"q","documents":"a"})", "documents: expected a list"},
      {R"({"model":"m","query":"q","documents":["a",3]})", "documents[1]"},
      {R"({"model":"m","query":"q","documents":[{"title":"t"}]})", "documents[0]"},
      {R"({"model":"m","query":"q","documents":["a"],"top_n":0})", "top_n"},
      {R"({"model":"m","query":"q","documents":["a"],"rank_fields":["a"]})",
       "rank_fields: not served"},
      {R"({"model":"m","query":"q","documents":["a"],"max_tokens_per_doc":0})",
       "max_tokens_per_doc"}};
  for (const auto& [body, expected] : cases) {
    EXPECT_THAT(read_rerank(body).status().message(), HasSubstr(expected)) << body;
  }
}

}  // namespace
}  // namespace sluice::http
