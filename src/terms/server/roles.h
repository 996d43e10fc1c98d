// What clients may do with the daemon.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
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

/// A set of roles, how long a run of a request of their client may take, and the highest priority
/// that it may ask for. Control contains monitor: who changes things sees what there is.
class Roles {
 public:
  static constexpr std::int32_t kAnyPriority = std::numeric_limits<std::int32_t>::max();

  constexpr Roles() = default;
  static constexpr Roles all() { return Roles(7); }

  constexpr void add(Role role) {
    bits_ |= static_cast<std::uint8_t>(role);
    if (role == Role::kControl) add(Role::kMonitor);
  }
  /// The client gets the longer and the higher of both limits.
  constexpr void add(Roles roles) {
    if (roles.bits_ == 0) return;
    const bool is_limited = max_run_ns_ != 0 && roles.max_run_ns_ != 0;
    const std::int64_t longer_ns = is_limited ? std::max(max_run_ns_, roles.max_run_ns_) : 0;
    max_run_ns_ = bits_ == 0 ? roles.max_run_ns_ : longer_ns;
    max_priority_ = bits_ == 0 ? roles.max_priority_ : std::max(max_priority_, roles.max_priority_);
    bits_ |= roles.bits_;
  }
  constexpr std::int64_t max_run_ns() const { return max_run_ns_; }  ///< 0: no limit
  constexpr void set_max_run_ns(std::int64_t ns) { max_run_ns_ = ns; }
  constexpr std::int32_t max_priority() const { return max_priority_; }
  constexpr void set_max_priority(std::int32_t priority) { max_priority_ = priority; }
  constexpr bool open(Role role) const {
    return role == Role::kAny ? bits_ != 0 : (bits_ & static_cast<std::uint8_t>(role)) != 0;
  }
  friend constexpr bool operator==(Roles a, Roles b) = default;

 private:
  explicit constexpr Roles(std::uint8_t bits) : bits_(bits) {}

  std::uint8_t bits_ = 0;
  std::int64_t max_run_ns_ = 0;
  std::int32_t max_priority_ = kAnyPriority;
};

/// "inference,monitor,max_run=10,max_priority=0", where max_run (in seconds) and max_priority are
/// optional, or "none".
/// Fails: kInvalidArgument naming the word that is no role.
Result<Roles> parse_roles(std::string_view text);
std::string to_string(Roles roles);
std::string_view role_name(Role role);

}  // namespace sluice::terms
