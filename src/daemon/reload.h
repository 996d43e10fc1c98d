// Applies changed settings to a running daemon.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/settings.h"

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

}  // namespace sluice::daemon
