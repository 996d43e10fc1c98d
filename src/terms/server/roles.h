// What clients may do with the daemon.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::terms {

/// Every call of the daemon belongs to one group of calls, which a role opens.
enum class Role : std::uint8_t {
  kAny = 0,        ///< what any role opens: a session, the server, its health, the list of models
  kMonitor = 1,    ///< lists of sessions and groups, statistics, profiles, /metrics
  kInference = 2,  ///< requests, shared memory, tensors of the exchange
  kControl = 4,    ///< groups, models, other clients' sessions
  kFetch = 8,      ///< tensors that were offered: of other daemons alone, and in no set of roles
};

/// A set of roles. Control contains monitor: who changes things sees what there is.
class Roles {
 public:
  constexpr Roles() = default;
  static constexpr Roles all() { return Roles(7); }

  constexpr void add(Role role) {
    bits_ |= static_cast<std::uint8_t>(role);
    if (role == Role::kControl) add(Role::kMonitor);
  }
  constexpr void add(Roles roles) { bits_ |= roles.bits_; }
  constexpr bool open(Role role) const {
    return role == Role::kAny ? bits_ != 0 : (bits_ & static_cast<std::uint8_t>(role)) != 0;
  }
  friend constexpr bool operator==(Roles a, Roles b) = default;

 private:
  explicit constexpr Roles(std::uint8_t bits) : bits_(bits) {}

  std::uint8_t bits_ = 0;
};

/// "inference,monitor", or "none".
/// Fails: kInvalidArgument naming the word that is no role.
Result<Roles> parse_roles(std::string_view text);
std::string to_string(Roles roles);
std::string_view role_name(Role role);

}  // namespace sluice::terms
