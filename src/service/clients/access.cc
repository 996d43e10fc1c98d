#include "service/clients/access.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <limits>

#include "base/text/number.h"
#include "base/utf8.h"
#include "terms/runtime_code.h"

namespace sluice::service {
namespace {

using Who = RoleRule::Who;

constexpr std::string_view kForms =
    "user:NAME=ROLES, group:NAME=ROLES, certificate:NAME=ROLES, remote=ROLES or others=ROLES";
constexpr std::string_view kCertificate = "certificate:";

/// A name of the system's, or a number.
template <typename Find>
Result<std::int64_t> id_of(std::string_view kind, const std::string& name, const Find& find) {
  const auto number = to_number<std::uint32_t>(name);
  // 4294967295 is (uid_t)-1, which system calls read as "no user".
  if (number && *number != std::numeric_limits<std::uint32_t>::max()) return std::int64_t{*number};
  const std::int64_t found = find(name.c_str());
  if (found >= 0) return found;
  return make_error(Code::kNotFound, "there is no {} \"{}\"", kind, name);
}

std::int64_t user_named(const char* name) {
  // Not thread-safe: the daemon parses rules at its start and on SIGHUP, never side by side.
  const passwd* entry = getpwnam(name);
  return entry == nullptr ? -1 : static_cast<std::int64_t>(entry->pw_uid);
}

std::int64_t group_named(const char* name) {
  const group* entry = getgrnam(name);
  return entry == nullptr ? -1 : static_cast<std::int64_t>(entry->gr_gid);
}

/// Ids, not names: the kernel reports ids of a Unix socket's peer, and a rename must not move
/// rights.
bool names(const RoleRule& rule, const terms::Peer& peer) {
  switch (rule.who) {
    case Who::kUser: return peer.user == rule.id;
    case Who::kGroup:
      return peer.group == rule.id ||
             std::ranges::find(peer.more_groups, rule.id) != peer.more_groups.end();
    case Who::kCertificate: return peer.certificate == rule.name;
    case Who::kRemote: return !peer.is_local();
    case Who::kOthers: break;
  }
  return false;
}

}  // namespace

Result<RoleRule> parse_role_rule(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return invalid_argument("\"{}\" is not of the form {}", text.substr(0, 200), kForms);
  }
  const std::string_view who = text.substr(0, equals);
  RoleRule rule;
  // Parsed before the name, so that a message about roles comes even for a user that does not
  // exist.
  rule.roles =
      SLUICE_TRY(terms::parse_roles(text.substr(equals + 1)).with_context(std::string(who)));
  constexpr std::string_view kUser = "user:";
  constexpr std::string_view kGroup = "group:";
  if (who.starts_with(kUser)) {
    rule.who = Who::kUser;
    rule.id = SLUICE_TRY(id_of("user", std::string(who.substr(kUser.size())), user_named));
  } else if (who.starts_with(kGroup)) {
    rule.who = Who::kGroup;
    rule.id = SLUICE_TRY(id_of("group", std::string(who.substr(kGroup.size())), group_named));
  } else if (who.starts_with(kCertificate) && who.size() > kCertificate.size()) {
    rule.who = Who::kCertificate;
    rule.name = who.substr(kCertificate.size());
    SLUICE_TRY(check_name(rule.name, "roles"));
  } else if (who == "remote") {
    rule.who = Who::kRemote;
  } else if (who != "others") {
    return invalid_argument("\"{}\" is not of the form {}", text.substr(0, 200), kForms);
  }
  return rule;
}

Result<std::vector<RoleRule>> parse_role_rules(std::span<const std::string> texts) {
  std::vector<RoleRule> rules;
  for (const std::string& text : texts) {
    rules.push_back(SLUICE_TRY(parse_role_rule(text).with_context("roles")));
  }
  return rules;
}

Result<std::vector<ExchangePeer>> parse_exchange_peers(std::span<const std::string> texts) {
  constexpr std::string_view kToken = "token:";
  std::vector<ExchangePeer> peers;
  for (const std::string& text : texts) {
    const bool is_certificate = text.starts_with(kCertificate);
    if (!is_certificate && !text.starts_with(kToken)) {
      return invalid_argument("exchange_peers: \"{}\" is neither certificate:NAME nor token:NAME",
                              text.substr(0, 200));
    }
    std::string name = text.substr(is_certificate ? kCertificate.size() : kToken.size());
    if (name.empty()) return invalid_argument("exchange_peers: \"{}\" has no name", text);
    SLUICE_TRY(check_name(name, "exchange_peers"));
    peers.push_back({is_certificate ? ExchangePeer::By::kCertificate : ExchangePeer::By::kToken,
                     std::move(name)});
  }
  return peers;
}

void Access::set_exchange_peers(std::vector<ExchangePeer> peers) {
  const std::lock_guard lock(mutex_);
  exchange_peers_ = std::move(peers);
}

void Access::set_rules(std::vector<RoleRule> rules) {
  auto next = std::make_shared<const std::vector<RoleRule>>(std::move(rules));
  const std::lock_guard lock(mutex_);
  // Only a shortcut of roles_of, which reads the rules themselves under the lock.
  has_rules_ = !next->empty();
  rules_ = std::move(next);
}

std::shared_ptr<const std::vector<RoleRule>> Access::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

terms::Roles Access::roles_of(const terms::Peer& peer) const {
  // First: rules that name everybody must not lock the administrator out.
  if (is_administrator(peer)) return terms::Roles::all();
  if (!peer.token.empty()) return peer.token_roles;
  if (!has_rules_.load(std::memory_order_acquire)) return terms::Roles::all();
  const auto rules = this->rules();
  if (rules->empty()) return terms::Roles::all();
  terms::Roles roles;
  bool is_named = false;
  for (const RoleRule& rule : *rules) {
    if (!names(rule, peer)) continue;
    is_named = true;
    roles.add(rule.roles);
  }
  // A client that a rule names gets nothing from `others`: a rule can take roles away.
  if (is_named) return roles;
  for (const RoleRule& rule : *rules) {
    if (rule.who == Who::kOthers) roles.add(rule.roles);
  }
  return roles;
}

Status Access::check_fetch(const terms::Peer& peer) const {
  const auto is_peer = [&](const ExchangePeer& one) {
    const bool by_certificate = one.by == ExchangePeer::By::kCertificate;
    return one.name == (by_certificate ? peer.certificate : peer.token);
  };
  const std::lock_guard lock(mutex_);
  if (std::ranges::any_of(exchange_peers_, is_peer)) return ok_status();
  std::string who = peer.certificate.empty() ? "" : fmt::format("certificate {}", peer.certificate);
  if (!peer.token.empty()) who += fmt::format("{}token {}", who.empty() ? "" : ", ", peer.token);
  return Status(Code::kPermissionDenied, static_cast<std::int32_t>(RuntimeCode::kFailed),
                fmt::format("{} is not in this daemon's exchange_peers",
                            who.empty() ? "a caller without a certificate or a token" : who));
}

Status Access::check(const terms::Peer& peer, terms::Role role) const {
  if (role == terms::Role::kFetch) return check_fetch(peer);
  const terms::Roles roles = roles_of(peer);
  if (roles.open(role)) return ok_status();
  const auto needed =
      role == terms::Role::kAny ? "a role" : fmt::format("the role {}", terms::role_name(role));
  return Status(Code::kPermissionDenied, static_cast<std::int32_t>(RuntimeCode::kFailed),
                fmt::format("this call needs {}; {} has {} (roles and token_file in the "
                            "daemon's settings)",
                            needed, account_of(peer), to_string(roles)));
}

}  // namespace sluice::service
