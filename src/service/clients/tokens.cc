#include "service/clients/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/system/secret.h"
#include "base/utf8.h"

namespace sluice::service {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

Result<AccessToken> parse_token(const std::vector<std::string_view>& words) {
  AccessToken token = {std::string(words[0])};
  if (words.size() > 3) return invalid_argument("expected SECRET ROLES NAME, found more words");
  if (words.size() > 1) {
    const auto roles = terms::parse_roles(words[1]);
    // The word may be a part of a secret with a blank, so it is not repeated.
    if (!roles.is_ok())
      return invalid_argument("the second word must be roles, as inference,monitor");
    token.roles = *roles;
  }
  if (words.size() > 2) {
    SLUICE_TRY(check_name(words[2], "token"));
    token.name = words[2];
  }
  return token;
}

}  // namespace

Result<std::vector<AccessToken>> parse_tokens(std::string_view text) {
  std::vector<AccessToken> tokens;
  std::set<std::string> secrets;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto words = words_of(text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (words.empty() || words[0].starts_with('#')) continue;
    const std::string line = fmt::format("line {}", number);
    tokens.push_back(SLUICE_TRY(parse_token(words).with_context(line)));
    if (!secrets.insert(tokens.back().secret).second) {
      return invalid_argument("{}: this token stands in an earlier line too", line);
    }
  }
  if (tokens.empty()) return invalid_argument("it has no token");
  return tokens;
}

void TokenTable::set(std::vector<AccessToken> tokens) {
  const std::lock_guard lock(mutex_);
  for (AccessToken& token : tokens) {
    if (!token.name.empty()) continue;
    // A token keeps the name that it was given, also over a reload of the file.
    const auto made = fmt::format("unnamed-{}", made_names_.size() + 1);
    token.name = made_names_.try_emplace(token.secret, made).first->second;
  }
  tokens_ = std::move(tokens);
}

bool TokenTable::is_empty() const {
  const std::lock_guard lock(mutex_);
  return tokens_.empty();
}

std::optional<AccessToken> TokenTable::find(std::string_view secret) const {
  const std::lock_guard lock(mutex_);
  std::optional<AccessToken> found;
  // To the end in any case: the time must not tell which token comes near.
  for (const AccessToken& token : tokens_) {
    if (is_same_secret(token.secret, secret)) found = token;
  }
  return found;
}

std::string_view bearer_secret(std::string_view authorization) {
  constexpr std::string_view kBearer = "Bearer ";
  const bool has_scheme = authorization.size() > kBearer.size() &&
                          is_same_word(authorization.substr(0, kBearer.size()), kBearer);
  if (has_scheme) authorization.remove_prefix(kBearer.size());
  return authorization;
}

Result<terms::Peer> TokenTable::with_token(terms::Peer peer, std::string_view authorization) const {
  if (is_empty()) return peer;
  const std::string_view secret = bearer_secret(authorization);
  auto token = find(secret);
  const std::string_view name = token ? std::string_view(token->name) : std::string_view();
  // Who says nothing does not guess.
  const bool is_try = !secret.empty();
  if (is_try && !guesses_.take(host_of(peer.address), name, system_clock().now_ns())) {
    return make_error(Code::kUnauthenticated,
                      "too many wrong tokens come from this host: wait a few seconds");
  }
  if (!token) {
    return make_error(Code::kUnauthenticated, "the call has no token that this daemon knows");
  }
  peer.token = std::move(token->name);
  peer.token_roles = token->roles;
  return peer;
}

}  // namespace sluice::service
