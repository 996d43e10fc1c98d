#include "generate/sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "grammar/grammars.h"
#include "grammar/token_grammar.h"
#include "grammar/token_trie.h"

namespace sluice::generate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kVocabulary = 4;

Sequence sequence_of(std::int64_t context) {
  Facts facts;
  facts.context = context;
  facts.stops = {3};
  facts.adapters = {"sql", "chat"};
  return Sequence(std::move(facts), kVocabulary);
}

/// Takes all pieces; the positions that were to be computed.
std::vector<std::int64_t> compute(Sequence& sequence, std::int64_t most = 100) {
  std::vector<std::int64_t> positions;
  while (true) {
    const auto piece = sequence.next_piece(most);
    EXPECT_TRUE(piece.is_ok()) << piece.status().message();
    if (!piece.is_ok() || piece->ids.empty()) return positions;
    positions.insert(positions.end(), piece->positions.begin(), piece->positions.end());
    sequence.take_piece(*piece);
  }
}

std::vector<float> likely(std::int64_t token) {
  std::vector<float> logits(kVocabulary);
  logits[static_cast<std::size_t>(token)] = 1;
  return logits;
}

TEST(Sequence, GivesPromptsInPiecesAndThenEachToken) {
  Sequence sequence = sequence_of(10);
  ASSERT_TRUE(sequence.start({.prompt = {0, 1, 2, 0, 1}}).is_ok());
  const auto first = sequence.next_piece(2);
  ASSERT_TRUE(first.is_ok());
  EXPECT_THAT(first->ids, ElementsAre(0, 1));
  EXPECT_EQ(first->end, 2);
  EXPECT_THAT(compute(sequence, 2), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(sequence.choose(likely(2)).value(), 2);
  EXPECT_THAT(compute(sequence), ElementsAre(5));
  EXPECT_THAT(sequence.tokens(), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Sequence, ComputesNotAgainWhatTheNextPromptShares) {
  Sequence sequence = sequence_of(10);
  ASSERT_TRUE(sequence.start({.prompt = {0, 1, 2}}).is_ok());
  compute(sequence);
  ASSERT_TRUE(sequence.start({.prompt = {0, 1, 1, 1}}).is_ok());
  EXPECT_THAT(compute(sequence), ElementsAre(2, 3));
  ASSERT_TRUE(sequence.start({.prompt = {0, 1, 1, 1}}).is_ok());
  EXPECT_THAT(compute(sequence), ElementsAre(3)) << "the logits of the last token are wanted";
}

TEST(Sequence, ComputesAgainWhatAnotherAdapterComputed) {
  Sequence sequence = sequence_of(20);
  const auto positions = [&](const char* adapter) {
    EXPECT_TRUE(sequence.start({.prompt = {0, 1, 2}, .adapter = adapter}).is_ok());
    EXPECT_EQ(sequence.next_piece(1)->adapter, sequence.adapter());
    return compute(sequence);
  };
  EXPECT_THAT(positions(""), ElementsAre(0, 1, 2));
  EXPECT_THAT(positions(""), ElementsAre(2));
  EXPECT_THAT(positions("chat"), ElementsAre(0, 1, 2));
  EXPECT_THAT(positions("chat"), ElementsAre(2));
  EXPECT_EQ(sequence.start({.prompt = {0, 1, 2}, .adapter = "no"}).code(), Code::kNotFound);
  EXPECT_THAT(positions("chat"), ElementsAre(2)) << "a refused text changes nothing";
  EXPECT_THAT(positions("sql"), ElementsAre(0, 1, 2));
}

TEST(Sequence, EndsAtATokenAtTheLimitAndAtTheContext) {
  Sequence sequence = sequence_of(3);
  ASSERT_TRUE(sequence.start({.prompt = {0}}).is_ok());
  compute(sequence);
  EXPECT_EQ(sequence.choose(likely(3)).value(), std::nullopt);
  EXPECT_EQ(sequence.finish(), Finish::kStop);
  EXPECT_TRUE(sequence.is_full());

  ASSERT_TRUE(sequence.start({.prompt = {0}, .max_tokens = 1}).is_ok());
  compute(sequence);
  EXPECT_FALSE(sequence.is_full());
  EXPECT_TRUE(sequence.choose(likely(1)).value().has_value());
  EXPECT_TRUE(sequence.is_full());
  EXPECT_EQ(sequence.finish(), Finish::kTokens);

  ASSERT_TRUE(sequence.start({.prompt = {0, 1, 2}}).is_ok());
  EXPECT_TRUE(sequence.is_full());
  EXPECT_EQ(sequence.finish(), Finish::kContext);
}

/// A grammar over tokens "a", "b", "ab", and 3, which ends texts.
std::shared_ptr<grammar::TokenGrammar> grammar_of(const std::string& gbnf) {
  const auto trie =
      std::make_shared<const grammar::TokenTrie>(std::vector<std::string>{"a", "b", "ab", ""});
  auto automaton = grammar::read_source({grammar::Source::Form::kGbnf, gbnf});
  return std::make_shared<grammar::TokenGrammar>(std::move(automaton).value(), trie);
}

TEST(Sequence, KeepsToItsGrammar) {
  Sequence sequence = sequence_of(10);
  ASSERT_TRUE(sequence.start({.prompt = {0}, .grammar = grammar_of("root ::= \"ab\"+")}).is_ok());
  EXPECT_EQ(sequence.choose(likely(3)).value(), 0) << "the end may not come yet";
  EXPECT_EQ(sequence.choose(likely(2)).value(), 1) << "half of the text is there";
  EXPECT_EQ(sequence.choose(likely(2)).value(), 2);
  EXPECT_FALSE(sequence.is_full());
  EXPECT_EQ(sequence.choose(likely(3)).value(), std::nullopt);
  EXPECT_EQ(sequence.finish(), Finish::kStop);

  ASSERT_TRUE(sequence.start({.prompt = {0}, .grammar = grammar_of("root ::= \"ba\"")}).is_ok());
  EXPECT_EQ(sequence.choose(likely(0)).value(), 1);
  EXPECT_EQ(sequence.choose(likely(1)).value(), 0);
  EXPECT_TRUE(sequence.is_full()) << "nothing can follow";
  EXPECT_EQ(sequence.finish(), Finish::kStop);

  ASSERT_TRUE(sequence.start({.prompt = {0}, .grammar = grammar_of("root ::= \"\"")}).is_ok());
  EXPECT_EQ(sequence.choose(likely(0)).value(), std::nullopt);
  ASSERT_TRUE(sequence.start({.prompt = {0}}).is_ok());
  EXPECT_EQ(sequence.choose(likely(1)).value(), 1) << "the next text has no grammar";
}

TEST(Sequence, SaysWhereTheVocabularyLacksTheGrammar) {
  Sequence sequence = sequence_of(10);
  ASSERT_TRUE(sequence.start({.prompt = {0}, .grammar = grammar_of("root ::= \"ac\"")}).is_ok());
  EXPECT_EQ(sequence.choose(likely(0)).value(), 0);
  const auto stuck = sequence.choose(likely(0));
  EXPECT_EQ(stuck.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(stuck.status().message(), HasSubstr("no token of the model's vocabulary"));
}

TEST(Sequence, RefusesPromptsThatTheModelCannotRead) {
  Sequence sequence = sequence_of(3);
  EXPECT_EQ(sequence.next_piece(1).status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(sequence.start({}).message(), HasSubstr("no tokens"));
  EXPECT_THAT(sequence.start({.prompt = {4}}).message(), HasSubstr("tokens 0 to 3"));
  const Status status = sequence.start({.prompt = {0, 0}, .max_tokens = 2});
  EXPECT_EQ(status.code(), Code::kOutOfRange);
  EXPECT_THAT(status.message(), HasSubstr("2 tokens and 2 may follow; the model's context has 3"));
}

}  // namespace
}  // namespace sluice::generate
