#include "daemon/balance/agent_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::daemon {
namespace {

/// HAProxy asks every few seconds, so it hears "ready" many times.
constexpr std::int64_t kNewNs = 60'000'000'000;

bool have_failed(const std::vector<terms::ModelHealth>& models) {
  return !models.empty() && std::ranges::all_of(models, [](const terms::ModelHealth& model) {
    return model.health.state == terms::HealthState::kFailed;
  });
}

}  // namespace

BalanceState balance_state(const service::Service& service) {
  const terms::ServerInfo server = service.server();
  const terms::ServerHealth health = service.health();
  return {server.state == "draining", health.is_ready,  health.reason,
          have_failed(health.models), server.uptime_ns, service.load()};
}

std::string agent_line(const BalanceState& state) {
  if (state.is_draining) return "drain\n";
  if (!state.is_ready) return fmt::format("down #{}\n", state.reason);
  if (state.has_failed) return "down #all models have failed\n";
  const int free_percent =
      std::clamp(static_cast<int>(std::lround(100 * (1 - state.load))), 1, 100);
  return fmt::format("{}up {}%\n", state.uptime_ns < kNewNs ? "ready " : "", free_percent);
}

}  // namespace sluice::daemon
