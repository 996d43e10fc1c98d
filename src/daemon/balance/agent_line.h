// The state of a daemon as HAProxy's agent checks read it.
#pragma once

#include <string>

#include "service/service.h"

namespace sluice::daemon {

/// What a balancer needs to know of a daemon.
struct BalanceState {
  bool is_draining = false;
  bool is_ready = true;
  std::string reason = {};  ///< why it is not ready
  bool has_failed = false;  ///< it has models, and all of them failed
  std::int64_t uptime_ns = 0;
  double load = 0;  ///< as service::Service::load
};

BalanceState balance_state(const service::Service& service);

/// One line, with its end: "up 75%\n" with the share of the load that is free, "drain\n", or
/// "down #REASON\n". The least share is 1 %, as 0 % would be a drain. "drain" is a state that
/// HAProxy keeps until it hears "ready", so a daemon says "ready up 75%\n" for its first minute;
/// later on a drain that an operator ordered in HAProxy lasts. The format: HAProxy's configuration
/// manual, "agent-check".
std::string agent_line(const BalanceState& state);

}  // namespace sluice::daemon
