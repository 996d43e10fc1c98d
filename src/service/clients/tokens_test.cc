#include "service/clients/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sluice::service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Tokens, LinesHaveSecretRolesAndName) {
  const auto tokens =
      parse_tokens("plain\r\n\n# a note\ns2 monitor\n\ts3  inference,control\talice\n");
  ASSERT_TRUE(tokens.is_ok()) << tokens.status().to_string();
  ASSERT_EQ(tokens->size(), 3U);
  EXPECT_EQ((*tokens)[0].secret, "plain");
  EXPECT_EQ((*tokens)[0].roles, terms::Roles::all());
  EXPECT_EQ((*tokens)[1].roles, terms::parse_roles("monitor").value());
  EXPECT_EQ((*tokens)[2].name, "alice");
  EXPECT_EQ((*tokens)[2].roles, terms::Roles::all());
}

TEST(Tokens, MistakesNameTheLineAndNoSecret) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "no token"},
      {"# none\n\n", "no token"},
      {"a\nhidden hidden\n", "line 2: the second word must be roles"},
      {"hidden monitor alice hidden\n", "line 1: expected SECRET ROLES NAME"},
      {"hidden\nb\nhidden monitor\n", "line 3: this token stands in an earlier line"},
      {"hidden monitor " + std::string(300, 'n'), "line 1: the name of a token has 300 bytes"},
  };
  for (const auto& [text, says] : cases) {
    const Status status = parse_tokens(text).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr(says));
    EXPECT_THAT(status.message(), Not(HasSubstr("hidden")));
  }
}

TEST(TokenTable, FindsWholeSecretsOnly) {
  TokenTable table;
  EXPECT_TRUE(table.is_empty());
  table.set(parse_tokens("secret\nother monitor\n").value());
  EXPECT_FALSE(table.is_empty());
  EXPECT_TRUE(table.find("secret").has_value());
  for (const char* wrong : {"", "secre", "secret1", "Secret", "secret other"}) {
    EXPECT_FALSE(table.find(wrong).has_value()) << wrong;
  }
}

terms::Peer peer_at(const char* address) {
  terms::Peer peer;
  peer.address = address;
  return peer;
}

TEST(TokenTable, HostThatGuessesIsRefusedAndOthersAreNot) {
  TokenTable table;
  table.set(parse_tokens("secret\nother monitor\nthird monitor\n").value());
  EXPECT_TRUE(table.identify(peer_at("10.0.0.1:7"), "secret").is_ok());
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(table.identify(peer_at("10.0.0.1:7"), "").is_ok());
  }
  EXPECT_TRUE(table.identify(peer_at("10.0.0.1:7"), "other").is_ok()) << "no token is no guess";
  std::string last;
  for (int i = 0; i < 1000; ++i) {
    last = table.identify(peer_at("10.0.0.1:8"), "guess").status().message();
  }
  EXPECT_THAT(last, HasSubstr("too many wrong tokens"));
  EXPECT_EQ(table.identify(peer_at("10.0.0.1:9"), "third").status().code(), Code::kUnauthenticated)
      << "a right guess is not told apart";
  EXPECT_TRUE(table.identify(peer_at("10.0.0.1:9"), "secret").is_ok())
      << "it came from there before";
  EXPECT_TRUE(table.identify(peer_at("10.0.0.2:1"), "third").is_ok());
}

TEST(Guesses, TriesComeBackWithTime) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  Guesses guesses;
  std::int64_t num_taken = 0;
  while (guesses.take("host", "", 0)) ++num_taken;
  EXPECT_EQ(num_taken, Guesses::kTries.burst);
  EXPECT_FALSE(guesses.take("host", "token", 0));
  EXPECT_TRUE(guesses.take("host", "token", kNsPerSecond));
  EXPECT_TRUE(guesses.take("host", "", kNsPerSecond));
  EXPECT_FALSE(guesses.take("host", "", kNsPerSecond));
  EXPECT_EQ(host_of("[::1]:5555"), "[::1]");
}

TEST(TokenTable, SecretKeepsItsMadeName) {
  TokenTable table;
  table.set(parse_tokens("a\nb\n").value());
  const std::string name = table.find("b")->name;
  EXPECT_NE(name, table.find("a")->name);
  table.set(parse_tokens("c\nb\n").value());
  EXPECT_EQ(table.find("b")->name, name);
  EXPECT_NE(table.find("c")->name, "unnamed-1") << "that was another's";
}

TEST(Tokens, SchemeOfABearerHasNoCase) {
  for (const char* field : {"Bearer s3cret", "bearer s3cret", "BEARER s3cret", "s3cret"}) {
    EXPECT_EQ(bearer_secret(field), "s3cret") << field;
  }
  EXPECT_EQ(bearer_secret("Basic s3cret"), "Basic s3cret");
  EXPECT_EQ(bearer_secret("Bearer"), "Bearer");
}

}  // namespace
}  // namespace sluice::service
