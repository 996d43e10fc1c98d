// Secrets by which clients over TCP authenticate.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/clients/guesses.h"
#include "terms/server/roles.h"
#include "terms/server/server.h"

namespace sluice::service {

struct AccessToken {
  std::string secret;
  terms::Roles roles = terms::Roles::all();
  /// In lists, logs and messages; tokens of one name share quotas and models. Empty: one is made.
  std::string name = {};
};

/// A token per line: `SECRET`, `SECRET ROLES` or `SECRET ROLES NAME`. Empty lines and lines that
/// begin with # do not count.
/// Fails: kInvalidArgument naming the line, never the secret: a word too much, no role, a name that
///        check_name refuses, a secret twice, no token at all.
Result<std::vector<AccessToken>> parse_tokens(std::string_view text);

/// The secret of "Bearer SECRET", which is the value of a call's authorization.
std::string_view bearer_secret(std::string_view authorization);

/// The tokens that the daemon accepts. Safe across threads.
class TokenTable {
 public:
  /// From now on. Tokens without a name are called "unnamed-N"; a secret keeps its number, so that
  /// nobody inherits another's models by a new file.
  void set(std::vector<AccessToken> tokens);
  /// No token is needed.
  bool is_empty() const;
  /// Takes the same time wherever the secrets differ first: nobody can guess one byte by byte.
  std::optional<AccessToken> find(std::string_view secret) const;
  /// The peer with the name and the roles of the token that its call brought.
  /// The mode of a Unix socket protects it: a local peer needs none.
  /// Fails: kUnauthenticated; also while too many wrong tokens come from the peer's host.
  Result<terms::Peer> identify(terms::Peer peer, std::string_view authorization) const {
    if (peer.is_local()) return peer;
    return with_token(std::move(peer), authorization);
  }

 private:
  Result<terms::Peer> with_token(terms::Peer peer, std::string_view authorization) const;

  mutable Guesses guesses_;
  mutable std::mutex mutex_;
  std::vector<AccessToken> tokens_;
  std::map<std::string, std::string> made_names_;  ///< by secret
};

}  // namespace sluice::service
