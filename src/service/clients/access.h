// Which roles a client has: the one place that decides whether a call is allowed.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "service/clients/peer.h"

namespace sluice::service {

/// Gives roles to users of the Unix socket, or to clients over TCP without tokens.
struct RoleRule {
  enum class Who { kUser, kGroup, kCertificate, kRemote, kOthers };
  Who who = Who::kOthers;
  std::int64_t id = -1;  ///< of the user or group
  std::string name;      ///< common name of the certificate
  terms::Roles roles;
};

/// "user:alice=inference,monitor", "group:ops=control", "certificate:host-b=inference",
/// "remote=inference", "others=none". A user or group may be a number; a certificate's name has no
/// "=". Fails: kInvalidArgument for another form; kNotFound for a user or group that this system
/// lacks.
Result<RoleRule> parse_role_rule(std::string_view text);
Result<std::vector<RoleRule>> parse_role_rules(std::span<const std::string> texts);

/// A daemon of another host, which may fetch tensors that were offered.
struct ExchangePeer {
  enum class By { kCertificate, kToken };
  By by = By::kCertificate;
  std::string name;  ///< common name of its certificate, or name of its token
};

/// "certificate:NAME" or "token:NAME". Fails: kInvalidArgument for another form.
Result<std::vector<ExchangePeer>> parse_exchange_peers(std::span<const std::string> texts);

/// A client has the roles of all rules that name its user or one of its groups; if none does, those
/// of "others". Without any rule every client has all roles. A client with a token has the token's
/// roles, and an administrator all. Safe across threads.
class Access {
 public:
  explicit Access(std::vector<RoleRule> rules = {}) { set_rules(std::move(rules)); }

  /// From now on, for open connections too.
  void set_rules(std::vector<RoleRule> rules);
  /// Who has the role kFetch, from now on; nobody else has it, not even administrators.
  void set_exchange_peers(std::vector<ExchangePeer> peers);
  terms::Roles roles_of(const terms::Peer& peer) const;
  /// Fails: kPermissionDenied naming the role that is missing.
  Status check(const terms::Peer& peer, terms::Role role) const;

 private:
  std::shared_ptr<const std::vector<RoleRule>> rules() const;
  Status check_fetch(const terms::Peer& peer) const;

  std::atomic<bool> has_rules_ =
      false;  ///< spares every request of a daemon without rules the lock
  mutable std::mutex mutex_;
  std::shared_ptr<const std::vector<RoleRule>> rules_;  ///< never null
  std::vector<ExchangePeer> exchange_peers_;
};

}  // namespace sluice::service
