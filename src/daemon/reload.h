// Applies changed settings to a running daemon.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/settings.h"
#include "telemetry/telemetry.h"

namespace sluice::daemon {

/// Keys whose values differ.
struct SettingsChange {
  std::vector<std::string_view> taken;
  std::vector<std::string_view> left;  ///< they wait for a restart
};

/// Whether a daemon that runs can take a new value of this setting.
bool is_reloadable(std::string_view key);

/// Copies the reloadable settings from `wanted` to `settings`.
SettingsChange take_over(const Settings& wanted, Settings& settings);

/// What a daemon traces from its start.
telemetry::TraceSettings trace_settings(const Settings& settings);
/// Changes of `now` what differs between the settings. The rest stays as it is: a client may have
/// chosen it since the start.
telemetry::TraceSettings take_over_tracing(const Settings& before, const Settings& after,
                                           telemetry::TraceSettings now);

}  // namespace sluice::daemon
