// Models of small graphs beside a tokenizer of a few words.
#include "embed/embedder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "embed/text_model.h"
#include "exec/testing/exec_testing.h"
#include "text/tokenizer.h"

namespace sluice::embed {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// "a" is 3, "b" 4, and pairs are "[C] first [S] second [S]".
text::Tokenizer tokenizer() {
  return text::Tokenizer::read(R"({
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "post_processor": {"type": "BertProcessing", "sep": ["S", 2], "cls": ["C", 1]},
    "model": {"type": "WordLevel", "vocab": {"u": 0, "C": 1, "S": 2, "a": 3, "b": 4},
              "unk_token": "u"}})")
      .value();
}

/// Inputs and, in `body`, the rest of a graph.
Result<Embedder> embedder_of(std::string_view body) {
  const std::string text =
      "\nsubgraph @0 \"main\" {\n  input %ids : i64[N,S]\n  input %mask : i64[N,S]\n" +
      std::string(body) + "}\n";
  auto executable = exec::testing::executable_of(text);
  executable.graph.metadata[kFact] = R"({"context": 16, "padding": 0})";
  auto model = exec::LoadedModel::load(std::move(executable), exec::testing::registry(), {});
  EXPECT_TRUE(model.is_ok()) << model.status().message();
  return Embedder::create(*model, tokenizer());
}

/// A score of a pair is the sum of its tokens.
constexpr std::string_view kSums = R"(
  const %axes : i64[1] = [1]
  [%f : f32[N,S]] = Cast.25[%ids] {saturate = 1, to = 1}
  [%scores : f32[N]] = ReduceSum.13[%f, %axes] {keepdims = 0}
  output [%scores]
)";

/// Ones, eight for each of as many rows as `%rows` says.
std::string vectors_of(std::string_view rows) {
  return R"(
  [%sizes : i64[2]] = Shape.25[%ids]
  const %zero : i64[1] = [0]
  const %eight : i64[1] = [8]
  const %all : i64[1] = [-1]
  const %x : f32[1] = [1.0]
)" + std::string(rows) +
         R"(
  [%dims : i64[2]] = Concat.13[%rows, %eight] {axis = 0}
  [%y : f32[?]] = Expand.13[%x, %dims]
  [%vectors : f32[?]] = Relu.14[%y]
  output [%vectors]
)";
}

/// A row for each text.
constexpr std::string_view kAsManyAsTexts =
    "  [%rows : i64[1]] = Gather.13[%sizes, %zero] {axis = 0}\n";
/// As many as the mask's first number says.
constexpr std::string_view kByTheMask =
    "  [%flat : i64[?]] = Reshape.25[%mask, %all] {allowzero = 0}\n"
    "  [%rows : i64[1]] = Gather.13[%flat, %zero] {axis = 0}\n";

TEST(Embedder, GivesAVectorOfEachText) {
  auto embedder = embedder_of(vectors_of(kAsManyAsTexts));
  ASSERT_TRUE(embedder.is_ok()) << embedder.status().message();
  const std::vector<std::string_view> texts(40, "a b");
  const auto vectors = embedder->vectors(texts);
  ASSERT_TRUE(vectors.is_ok()) << vectors.status().message();
  EXPECT_EQ(vectors->size(), 40U * 8U);
  EXPECT_THAT(*vectors, Each(1.0F));
}

TEST(Embedder, RefusesAModelWhoseOutputHasNoRowForEachText) {
  const std::string cases[] = {vectors_of(kByTheMask),
                               "  const %x : f32[1,8] = [1, 1, 1, 1, 1, 1, 1, 1]\n"
                               "  [%vectors : f32[1,8]] = Relu.14[%x]\n  output [%vectors]\n",
                               "  const %x : f32[0,8] = []\n"
                               "  [%vectors : f32[0,8]] = Relu.14[%x]\n  output [%vectors]\n",
                               "  const %x : f32[1] = [1]\n"
                               "  [%scores : f32[1]] = Relu.14[%x]\n  output [%scores]\n",
                               "  input %x : f32[M,8]\n"
                               "  [%vectors : f32[M,8]] = Relu.14[%x]\n  output [%vectors]\n",
                               "  input %x : f32[N,0]\n"
                               "  [%vectors : f32[N,0]] = Relu.14[%x]\n  output [%vectors]\n"};
  for (const std::string& body : cases) {
    const auto embedder = embedder_of(body);
    ASSERT_FALSE(embedder.is_ok()) << body;
    EXPECT_EQ(embedder.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(embedder.status().message(), HasSubstr("for the texts of \"ids\"")) << body;
  }
}

TEST(PutRows, RefusesAnotherNumberOfRows) {
  std::vector<float> numbers(16, 1);
  const auto put = [&](std::int64_t rows, ir::ElementType element = ir::ElementType::kF32) {
    std::vector<float> all(3 * 8);
    const Status status = put_rows({0, 2}, {numbers.data(), rows * 32, element, {rows, 8}}, 8, all);
    EXPECT_EQ(all[0], status.is_ok() ? 1 : 0);
    return status;
  };
  EXPECT_TRUE(put(2).is_ok());
  for (const std::int64_t rows : {0, 1, 3}) {
    EXPECT_EQ(put(rows).code(), Code::kDataLoss);
  }
  EXPECT_THAT(put(1).message(), HasSubstr("f32[1,8] for 2 texts"));
  EXPECT_THAT(put(2, ir::ElementType::kI32).message(), HasSubstr("i32[2,8] for 2 texts"));
}

TEST(Embedder, ReadsAQueryOnceForAllDocuments) {
  auto embedder = embedder_of(kSums);
  ASSERT_TRUE(embedder.is_ok()) << embedder.status().message();
  const TextModel& model = embedder->model();
  for (const std::string_view query : {"a", " a  b ", "   ", ""}) {
    const auto ids = model.read_query(query);
    ASSERT_TRUE(ids.is_ok());
    for (const std::string_view document : {"b", "", "a b a"}) {
      const auto pair = model.encode_pair(*ids, document);
      const auto expected = model.tokenizer.encode_pair(query, &document);
      ASSERT_TRUE(pair.is_ok() && expected.is_ok());
      EXPECT_EQ(pair->ids, expected->ids);
      EXPECT_EQ(pair->type_ids, expected->type_ids);
    }
  }
  // Spaces make no tokens, so that the context does not bound a query's bytes. Reading these for
  // each document would take minutes.
  const std::string query = std::string(std::size_t{4} << 20U, ' ') + "a";
  const std::vector<std::string_view> documents(2048, "b b");
  const auto scores = embedder->scores(query, documents);
  ASSERT_TRUE(scores.is_ok()) << scores.status().message();
  EXPECT_THAT(*scores, Each(1 + 3 + 2 + 4 + 4 + 2));
}

TEST(Embedder, NamesTheTextThatIsTooLong) {
  auto embedder = embedder_of(kSums);
  ASSERT_TRUE(embedder.is_ok()) << embedder.status().message();
  std::string text;
  for (int i = 0; i < 17; ++i) text += "a ";
  EXPECT_THAT(embedder->scores(text, std::vector<std::string_view>{"b"}).status().message(),
              HasSubstr("query: the text has 17 tokens; the model takes 16"));
  EXPECT_THAT(embedder->scores("a", std::vector<std::string_view>{"b", text}).status().message(),
              HasSubstr("document 1: the pair of texts has 21 tokens; the model takes 16"));
}

}  // namespace
}  // namespace sluice::embed
