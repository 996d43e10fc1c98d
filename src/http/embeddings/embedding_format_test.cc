#include "http/embeddings/embedding_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::http {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::FloatEq;

TEST(EmbeddingJson, WritesVectorsAsNumbersAndAsBase64) {
  EmbeddingCall call;
  call.model = "m\"";
  json found = json::parse(embedding_json(call, {1, -0.5F, 1e-30F, 3}, 2, 7));
  EXPECT_EQ(found["model"], "m\"");
  EXPECT_EQ(found["usage"], json({{"prompt_tokens", 7}, {"total_tokens", 7}}));
  ASSERT_EQ(found["data"].size(), 2U);
  EXPECT_EQ(found["data"][0]["embedding"], json({1.0, -0.5}));
  EXPECT_EQ(found["data"][1]["index"], 1);
  EXPECT_EQ(found["data"][1]["embedding"][0].get<float>(), 1e-30F);
  call.is_base64 = true;
  found = json::parse(embedding_json(call, {1, -0.5F}, 2, 7));
  EXPECT_EQ(found["data"][0]["embedding"], "AACAPwAAAL8=");
}

TEST(CutVectors, KeepTheirLengthIfTheyAreNormalized) {
  const std::vector<float> vectors = {3, 4, 12, 0, 0, 1};
  EXPECT_THAT(cut_vectors(vectors, 3, 2, true),
              ElementsAre(FloatEq(0.6F), FloatEq(0.8F), FloatEq(0), FloatEq(0)));
  EXPECT_THAT(cut_vectors(vectors, 3, 1, false), ElementsAre(3, 0));
}

TEST(RerankJson, PutsTheBestFirst) {
  RerankCall call;
  call.model = "m";
  call.documents = {"a", "b", "c"};
  json found = json::parse(rerank_json(call, {0.25F, 0.5F, 0.25F}, 9));
  EXPECT_EQ(found["results"].dump(),
            R"([{"index":1,"relevance_score":0.5},{"index":0,"relevance_score":0.25},)"
            R"({"index":2,"relevance_score":0.25}])");
  EXPECT_EQ(found["usage"]["total_tokens"], 9);
  call.top_n = 1;
  call.returns_documents = true;
  found = json::parse(rerank_json(call, {0.25F, 0.5F, 0.25F}, 9));
  EXPECT_EQ(found["results"],
            json::array({{{"index", 1}, {"relevance_score", 0.5}, {"document", {{"text", "b"}}}}}));
}

TEST(EmbeddingFormat, AnswerIsNoLongerThanWhatIsPaidForIt) {
  RerankCall call;
  call.model = "m";
  call.documents = {std::string(1000, '\x01'), std::string(1000, '"'), std::string(1000, 'a')};
  for (const bool returns_documents : {false, true}) {
    call.returns_documents = returns_documents;
    const std::string text = rerank_json(call, {-1.2345678e-38F, 0.5F, 0}, 3000);
    EXPECT_LE(std::ssize(text), answer_bytes(call));
  }
  EXPECT_GT(answer_bytes(call), 6 * 1000);
}

}  // namespace
}  // namespace sluice::http
