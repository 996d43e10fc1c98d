#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace sluice::text {
namespace {

/// Byte-level, with "he", "ll", "hell", "Ġw" and a special token.
constexpr std::string_view kSmall = R"({
  "added_tokens": [{"id": 300, "content": "<|end|>", "special": true, "normalized": false}],
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
  "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE",
    "vocab": {"h": 0, "e": 1, "l": 2, "o": 3, "Ġ": 4, "w": 5, "he": 6, "ll": 7, "hell": 8, "Ġw": 9,
              "Ã": 10, "©": 11},
    "merges": ["h e", "l l", "he ll", ["Ġ", "w"]]}})";

Tokenizer read(std::string_view json) {
  auto tokenizer = Tokenizer::read(json);
  EXPECT_TRUE(tokenizer.is_ok()) << tokenizer.status().to_string();
  return std::move(tokenizer).value();
}

std::vector<std::int32_t> numbers(const Result<std::vector<TokenId>>& ids) {
  EXPECT_TRUE(ids.is_ok()) << ids.status().to_string();
  std::vector<std::int32_t> numbers;
  for (const TokenId id : *ids) numbers.push_back(id.value());
  return numbers;
}

std::string problem(std::string_view json) {
  const auto tokenizer = Tokenizer::read(json);
  return tokenizer.is_ok() ? "" : tokenizer.status().to_string();
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Tokenizer, MergesPairsInOrderOfRank) {
  const Tokenizer tokenizer = read(kSmall);
  EXPECT_THAT(numbers(tokenizer.encode("hello w")), ElementsAre(8, 3, 9));
  EXPECT_THAT(numbers(tokenizer.encode("")), ElementsAre());
}

TEST(Tokenizer, TakesTextWithoutMergesOrPieces) {
  const Tokenizer letters =
      read(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})");
  EXPECT_THAT(numbers(letters.encode("abba")), ElementsAre(0, 1, 1, 0));
  for (const char* model :
       {R"({"type": "BPE", "vocab": {}, "merges": []})",
        R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "ignore_merges": true})",
        R"({"type": "WordPiece", "unk_token": "u", "vocab": {"u": 0}})",
        R"({"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0}})",
        R"({"type": "Unigram", "unk_id": 0, "vocab": [["u", 0.0]]})"}) {
    const Tokenizer empty = read(std::string(R"({"model": )") + model + "}");
    const auto ids = empty.encode("hello");
    EXPECT_TRUE(!ids.is_ok() || ids->size() <= 5U) << model;
  }
}

TEST(Tokenizer, FindsSpecialTokensOnlyInTrustedText) {
  const Tokenizer tokenizer = read(kSmall);
  EXPECT_THAT(numbers(tokenizer.encode("he<|end|>he")), ElementsAre(6, 300, 6));
  EXPECT_THAT(numbers(tokenizer.encode("he<|end|>he", {.finds_special_tokens = false})),
              ElementsAre(6, 1, 6));  // characters without a token leave nothing
}

TEST(Tokenizer, LooksUpPiecesAndIds) {
  const Tokenizer tokenizer = read(kSmall);
  EXPECT_EQ(tokenizer.find_token("hell").value(), 8);
  EXPECT_EQ(tokenizer.find_token("<|end|>").value(), 300);
  EXPECT_FALSE(tokenizer.find_token("x").is_valid());
  EXPECT_EQ(tokenizer.find_piece(TokenId(9)), "Ġw");
  EXPECT_EQ(tokenizer.find_piece(TokenId(100)), std::nullopt);
  EXPECT_TRUE(tokenizer.is_special(TokenId(300)));
  EXPECT_EQ(tokenizer.vocabulary_size(), 13U);
  EXPECT_EQ(tokenizer.end_id(), 301U);
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8WithThePlace) {
  const auto ids = read(kSmall).encode("he\xFFlo");
  ASSERT_FALSE(ids.is_ok());
  EXPECT_THAT(ids.status().message(), HasSubstr("byte 2"));
}

TEST(Tokenizer, DecodesBrokenBytesAsReplacementCharacters) {
  const Tokenizer tokenizer = read(kSmall);
  const std::vector<TokenId> ids = {TokenId(10), TokenId(11), TokenId(10), TokenId(300)};
  EXPECT_EQ(tokenizer.decode(ids).value(), "é\xEF\xBF\xBD");
  EXPECT_EQ(tokenizer.decode(ids, {.skips_special_tokens = false}).value(), "é\xEF\xBF\xBD<|end|>");
}

TEST(StreamDecoder, GivesWholeCharactersAlone) {
  StreamDecoder decoder(read(kSmall));
  EXPECT_EQ(decoder.add(TokenId(8)).value(), "hell");
  EXPECT_EQ(decoder.add(TokenId(10)).value(), "");
  EXPECT_EQ(decoder.add(TokenId(11)).value(), "é");
  EXPECT_EQ(decoder.add(TokenId(10)).value(), "");
  EXPECT_EQ(decoder.finish().value(), "\xEF\xBF\xBD");
  EXPECT_EQ(decoder.add(TokenId(3)).value(), "o");
}

TEST(StreamDecoder, SpellsATokenInItsPlaceByItsBytes) {
  StreamDecoder decoder(read(kSmall));
  EXPECT_EQ(decoder.spell(TokenId(10)).value(), "\xC3");
  EXPECT_EQ(decoder.add(TokenId(10)).value(), "");
  EXPECT_EQ(decoder.spell(TokenId(11)).value(), "\xA9");
  EXPECT_EQ(decoder.spell(TokenId(8)).value(), "hell");
  EXPECT_EQ(decoder.num_characters().value(), 1) << "one that waits, maybe for ever";
  EXPECT_EQ(decoder.add(TokenId(11)).value(), "é") << "spelling changes nothing";
  EXPECT_EQ(decoder.add(TokenId(8)).value(), "hell");
  EXPECT_EQ(decoder.num_characters().value(), 5);
  const auto tokenizer = read(kSmall);
  EXPECT_EQ(decoder.spell(tokenizer.find_token("<|end|>")).value(), "<|end|>");
}

TEST(StreamDecoder, DoesNotWaitForeverForBrokenBytes) {
  StreamDecoder decoder(read(kSmall));
  std::size_t bytes = 0;
  for (int i = 0; i < 100; ++i) bytes += decoder.add(TokenId(11)).value().size();
  EXPECT_GE(bytes, 3U * 80);
}

TEST(Tokenizer, RefusesUnknownKindsByName) {
  EXPECT_THAT(problem(R"({"model": {"type": "Magic"}})"), HasSubstr("Magic"));
  EXPECT_THAT(problem(R"({"normalizer": {"type": "Magic"}})"), HasSubstr("normalizer: the kind"));
  EXPECT_THAT(
      problem(R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "X"}]}})"),
      HasSubstr("pre_tokenizer.pretokenizers[0]: the kind \"X\""));
  EXPECT_THAT(problem(R"({"model": {"type": "BPE", "dropout": 0.5, "vocab": {}, "merges": []}})"),
              HasSubstr("dropout"));
}

TEST(Tokenizer, RefusesDamagedFiles) {
  EXPECT_THAT(problem(kSmall.substr(0, 300)), HasSubstr("not JSON"));
  EXPECT_THAT(problem("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(problem(R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})"),
              HasSubstr("id -1"));
  EXPECT_THAT(problem(R"({"model": {"type": "BPE", "vocab": {"a": 99999999999}, "merges": []}})"),
              HasSubstr("99999999999"));
  EXPECT_THAT(problem(R"({"model": {"type": "BPE", "vocab": {"a": 1}, "merges": ["a b"]}})"),
              HasSubstr("\"b\" is not in the vocabulary"));
  EXPECT_THAT(problem(R"({"model": {"type": "Unigram", "vocab": [["a", 1]], "unk_id": 1}})"),
              HasSubstr("unk_id"));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += R"({"normalizers":[)";
  EXPECT_THAT(problem(deep), HasSubstr("not JSON"));
}

TEST(Tokenizer, RefusesTokensThatMakeEachSearchLong) {
  const std::string piece(2000, 'a');
  EXPECT_THAT(
      problem(R"({"model": {"type": "Unigram", "vocab": [["a", -1], [")" + piece + R"(", -2]]}})"),
      HasSubstr("a token of 2000 bytes"));
  EXPECT_THAT(problem(R"({"model": {"type": "WordPiece", "unk_token": "u", "vocab": {"u": 0, ")" +
                      piece + R"(": 1}}})"),
              HasSubstr("a token of 2000 bytes"));
  // Short as it stands, long once it is normalized.
  EXPECT_THAT(problem(R"({"added_tokens": [{"id": 1, "content": "aaa", "normalized": true}],
                          "normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": ")" +
                      std::string(1000, 'b') + R"("},
                          "model": {"type": "WordLevel", "vocab": {"u": 0}, "unk_token": "u"}})"),
              HasSubstr("a token of 3000 bytes"));
}

TEST(Tokenizer, EndsAHostileExpressionWithAnError) {
  const Tokenizer tokenizer = read(R"({
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(x+x+)+$"}, "behavior": "Isolated"},
    "model": {"type": "WordLevel", "vocab": {"u": 0}, "unk_token": "u"}})");
  EXPECT_THAT(numbers(tokenizer.encode("xx")), ElementsAre(0));
  const auto ids = tokenizer.encode(std::string(4000, 'x') + "z");
  ASSERT_FALSE(ids.is_ok());
  EXPECT_EQ(ids.status().code(), Code::kResourceExhausted);
}

TEST(Tokenizer, TakesALongWordWithoutASpace) {
  const auto ids = read(kSmall).encode(std::string(1 << 20, 'l'));
  ASSERT_TRUE(ids.is_ok());
  EXPECT_EQ(ids->size(), std::size_t{1} << 19U);
}

TEST(Tokenizer, AnswersThreadsAlike) {
  const Tokenizer tokenizer = read(kSmall);
  const auto expected = numbers(tokenizer.encode("hello w hello hell w"));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int run = 0; run < 100; ++run) {
        wrong += numbers(tokenizer.encode("hello w hello hell w")) == expected ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Tokenizer, JoinsPairsByTheTemplate) {
  const Tokenizer tokenizer = read(R"({
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "post_processor": {"type": "BertProcessing", "sep": ["S", 2], "cls": ["C", 1]},
    "model": {"type": "WordLevel", "vocab": {"u": 0, "C": 1, "S": 2, "a": 3, "b": 4}, "unk_token": "u"}})");
  const std::string_view second = "b b";
  const auto pair = tokenizer.encode_pair("a", &second);
  ASSERT_TRUE(pair.is_ok());
  EXPECT_THAT(numbers(pair->ids), ElementsAre(1, 3, 2, 4, 4, 2));
  EXPECT_THAT(pair->type_ids, ElementsAre(0, 0, 0, 1, 1, 1));
}

}  // namespace
}  // namespace sluice::text
