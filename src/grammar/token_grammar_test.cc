#include "grammar/token_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "grammar/grammars.h"
#include "grammar/states.h"
#include "grammar/testing/fits.h"

namespace sluice::grammar {
namespace {

/// All bytes, and pairs and triples of those that JSON has; 2 and 3 are one text, 4 is empty.
std::vector<std::string> tokens() {
  std::vector<std::string> made;
  for (int byte = 0; byte < 256; ++byte) made.emplace_back(1, static_cast<char>(byte));
  made[2] = made[3] = "\"}";
  made[4] = "";
  const std::string often = "\",:{}[] ab1\\n";
  for (const char a : often) {
    for (const char b : often) {
      made.push_back({a, b});
      for (const char c : often) made.push_back({a, b, c});
    }
  }
  return made;
}

class TokenGrammarTest : public ::testing::Test {
 protected:
  std::shared_ptr<TokenGrammar> make(const Source& source,
                                     std::size_t max_kept_bytes = TokenGrammar::kMaxKeptBytes) {
    return std::make_shared<TokenGrammar>(read_source(source).value(), trie_, max_kept_bytes);
  }
  static bool has(const Mask& mask, std::size_t token) {
    return (mask.bits[token / 64] >> (token % 64) & 1U) != 0;
  }

  const std::vector<std::string> tokens_ = tokens();
  const std::shared_ptr<const TokenTrie> trie_ = std::make_shared<const TokenTrie>(tokens_);
};

constexpr const char* kSchema =
    R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array",
        "items": {"anyOf": [{"type": "string", "maxLength": 3}, {"$ref": "#"}, {"type": "integer"}]}}},
        "required": ["a"]})";

TEST_F(TokenGrammarTest, MasksAreTheTokensThatGoOn) {
  for (const Source& source :
       {Source{Source::Form::kSchema, kSchema},
        Source{Source::Form::kGbnf,
               "root ::= word (\", \" word)* \"\\n\"?\nword ::= letter+ | \"[\" root \"]\"\n"
               "letter ::= [ab1\\\\]"}}) {
    const auto automaton = read_source(source).value();
    const auto grammar = make(source);
    std::mt19937 random(7);
    for (int run = 0; run < 20; ++run) {
      Matcher matcher(grammar);
      States states(automaton);
      StateId state = states.at(automaton.root(), States::kBottom).value();
      for (int step = 0; step < 40; ++step) {
        const auto mask = matcher.mask().value();
        std::vector<std::size_t> allowed;
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
          StateId next = tokens_[i].empty() ? States::kDead : state;
          for (const char byte : tokens_[i])
            next = states.next(next, static_cast<std::uint8_t>(byte));
          ASSERT_EQ(has(*mask, i), next != States::kDead) << tokens_[i];
          if (next != States::kDead) allowed.push_back(i);
        }
        ASSERT_EQ(mask->may_end, states.may_end(state));
        ASSERT_EQ(mask->is_empty, allowed.empty());
        if (allowed.empty()) break;
        const std::size_t token = allowed[random() % allowed.size()];
        ASSERT_TRUE(matcher.accept(static_cast<std::int64_t>(token)).is_ok());
        for (const char byte : tokens_[token])
          state = states.next(state, static_cast<std::uint8_t>(byte));
      }
    }
  }
}

TEST_F(TokenGrammarTest, RefusesTokensThatMayNotComeAndGoesOn) {
  Matcher matcher(make({Source::Form::kGbnf, "root ::= \"ab\""}));
  EXPECT_EQ(matcher.accept('b').code(), Code::kInvalidArgument);
  EXPECT_EQ(matcher.accept(4).code(), Code::kInvalidArgument) << "an empty token";
  EXPECT_EQ(matcher.accept(-1).code(), Code::kInvalidArgument);
  EXPECT_EQ(matcher.accept(1'000'000).code(), Code::kInvalidArgument);
  EXPECT_FALSE(matcher.is_over());
  EXPECT_TRUE(matcher.accept('a').is_ok());
  EXPECT_TRUE(matcher.accept('b').is_ok());
  EXPECT_TRUE(matcher.is_over());
  const auto mask = matcher.mask().value();
  EXPECT_TRUE(mask->is_empty && mask->may_end);
}

TEST_F(TokenGrammarTest, TextsStayWhereTheyAreWhenAllIsMadeAnew) {
  const auto small = make({Source::Form::kSchema, kSchema}, 1);
  const auto large = make({Source::Form::kSchema, kSchema});
  Matcher first(small);
  Matcher second(small);
  Matcher other(large);
  for (const char byte : std::string_view(R"({"a": "x", "b": [{"a":"abc"}, "abc", 7]})")) {
    for (Matcher* matcher : {&first, &second, &other}) {
      ASSERT_TRUE(matcher->accept(static_cast<unsigned char>(byte)).is_ok()) << byte;
    }
    ASSERT_EQ(first.mask().value()->bits, other.mask().value()->bits);
    ASSERT_EQ(second.mask().value()->bits, other.mask().value()->bits);
  }
}

/// `count` tokens of up to seven letters.
std::shared_ptr<const TokenTrie> trie_of_letters(std::size_t count) {
  std::vector<std::string> made;
  for (int byte = 0; byte < 256; ++byte) made.emplace_back(1, static_cast<char>(byte));
  std::mt19937 random(1);
  while (made.size() < count) {
    std::string token(2 + random() % 6, ' ');
    for (char& c : token) c = static_cast<char>('a' + random() % 26);
    made.push_back(std::move(token));
  }
  return std::make_shared<const TokenTrie>(made);
}

/// Each letter begins ten more characters: a text's places are a set of its own for nearly each
/// text.
std::string many_sets(std::size_t more) {
  std::string grammar = "root ::= .*";
  for (char c = 'a'; c < 'z'; ++c) grammar += std::string(" | .* [") + c + "] .{10}";
  for (std::size_t i = 0; i < more; ++i) grammar += " | .*";
  return grammar;
}

TEST(TokenGrammar, RefusesMasksThatTakeTooMuchWorkOrMemory) {
  const auto trie = trie_of_letters(30'000);
  ASSERT_GT(trie->num_nodes(), 50'000U);
  for (const std::size_t more : {0U, 100U, 1700U}) {
    const auto grammar = std::make_shared<TokenGrammar>(
        read_source({Source::Form::kGbnf, many_sets(more)}).value(), trie);
    Matcher matcher(grammar);
    const auto mask = matcher.mask();
    EXPECT_EQ(mask.status().code(), Code::kInvalidArgument) << more;
    EXPECT_THAT(mask.status().message(), ::testing::HasSubstr("ambiguous"));
    EXPECT_LT(grammar->kept_bytes(), States::kMaxNewBytes + (1U << 20U)) << more;
    Matcher other(grammar);
    EXPECT_TRUE(other.accept('!').is_ok()) << "a text that needs little";
  }
}

TEST(TokenGrammar, TakesManyWordsAndLongTexts) {
  std::string words = "root ::= \"\\\"\" (\"none\"";
  for (int i = 0; i < 3000; ++i) words += " | \"" + std::to_string(i * 7919) + "\"";
  const auto trie = trie_of_letters(30'000);
  for (const std::string& gbnf :
       {words + ") \"\\\"\"", std::string("root ::= .{10000} | [a-z ]*")}) {
    Matcher matcher(
        std::make_shared<TokenGrammar>(read_source({Source::Form::kGbnf, gbnf}).value(), trie));
    EXPECT_TRUE(matcher.mask().is_ok());
    EXPECT_TRUE(matcher.accept(gbnf.starts_with("root ::= \"") ? '"' : 'a').is_ok());
    const auto mask = matcher.mask();
    EXPECT_TRUE(mask.is_ok()) << mask.status().message();
  }
}

TEST(States, VisitNoMoreThanTheirBudget) {
  const auto automaton = read_source({Source::Form::kGbnf, many_sets(1700)}).value();
  States states(automaton);
  std::mt19937 random(1);
  StateId state = states.at(automaton.root(), States::kBottom).value();
  for (int i = 0; i < 100'000 && states.check().is_ok(); ++i) {
    state = states.next(state, static_cast<std::uint8_t>('a' + random() % 26));
  }
  EXPECT_EQ(states.check().code(), Code::kInvalidArgument);
  EXPECT_LE(states.num_visits(), States::kMaxVisits + automaton.num_edges());
  EXPECT_LE(states.size_bytes(), States::kMaxNewBytes + (1U << 20U));
}

TEST(TokenTrie, LeavesOutWhatIsNoText) {
  const auto tokenizer = text::Tokenizer::read(
      R"({"model": {"type": "BPE", "vocab": {"a": 0, "\u0120b": 1, "\u00c3": 2}, "merges": []},
          "decoder": {"type": "ByteLevel"},
          "added_tokens": [{"id": 3, "content": "<|end|>", "special": true},
                           {"id": 5, "content": "<tool>", "special": false}]})");
  ASSERT_TRUE(tokenizer.is_ok()) << tokenizer.status().message();
  const TokenTrie trie = TokenTrie::create(*tokenizer).value();
  EXPECT_EQ(trie.end_id(), 6U);
  EXPECT_EQ(trie.bytes(1), " b");
  EXPECT_EQ(trie.bytes(2), "\xC3") << "half a character";
  EXPECT_EQ(trie.bytes(3), "") << "special";
  EXPECT_EQ(trie.bytes(4), "") << "no token";
  EXPECT_EQ(trie.bytes(5), "<tool>");
}

TEST(Grammars, KeepTheLastOnes) {
  const auto tokenizer = text::Tokenizer::read(
      R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "decoder": {"type": "ByteLevel"}})");
  Grammars grammars(tokenizer.value());
  EXPECT_EQ(grammars.find({}).value(), nullptr);
  const Source object = {Source::Form::kSchema, R"({"type": "object"})"};
  const auto first = grammars.find(object).value();
  EXPECT_EQ(grammars.find(object).value(), first);
  for (std::size_t i = 0; i < Grammars::kMaxKept; ++i) {
    const std::string rule = "root ::= \"" + std::string(i + 1, 'a') + "\"";
    EXPECT_TRUE(grammars.find({Source::Form::kGbnf, rule}).is_ok());
  }
  EXPECT_NE(grammars.find(object).value(), first);
  EXPECT_FALSE(grammars.find({Source::Form::kGbnf, "root ::="}).value() == nullptr)
      << "an empty text";
  EXPECT_THAT(grammars.find({Source::Form::kSchema, "{"}).status().message(),
              ::testing::HasSubstr("schema"));
}

TEST(Grammars, KeepFewLargeOnes) {
  const auto tokenizer = text::Tokenizer::read(
      R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "decoder": {"type": "ByteLevel"}})");
  Grammars grammars(tokenizer.value());
  std::vector<std::weak_ptr<TokenGrammar>> made;
  std::size_t bytes = 0;
  for (const char* letter : {"a", "b", "c", "d", "e", "f"}) {
    const Source large = {Source::Form::kGbnf,
                          std::string("root ::= [") + letter + "]{1,10000}{16}"};
    made.push_back(grammars.find(large).value());
    bytes += made.back().lock()->automaton_bytes();
  }
  ASSERT_GT(bytes, Grammars::kMaxAutomataBytes);
  std::size_t kept = 0;
  for (const auto& grammar : made) {
    if (const auto there = grammar.lock()) kept += there->automaton_bytes();
  }
  EXPECT_LE(kept, Grammars::kMaxAutomataBytes);
  EXPECT_NE(made.back().lock(), nullptr);
  EXPECT_EQ(made.front().lock(), nullptr);
}

}  // namespace
}  // namespace sluice::grammar
