#include "daemon/reload.h"

#include <algorithm>
#include <array>

namespace sluice::daemon {
namespace {

/// Not here: what devices, sockets and certificates were made from.
constexpr std::array<std::string_view, 10> kReloadable = {
    "token_file",       "model_folders",   "upload_limit_bytes", "session_models", "session_cores",
    "session_requests", "stream_requests", "drain_seconds",      "log_level",      "isolation"};

}  // namespace

bool is_reloadable(std::string_view key) {
  return std::ranges::find(kReloadable, key) != kReloadable.end();
}

SettingsChange take_over(const Settings& wanted, Settings& settings) {
  SettingsChange change;
  for (const SettingInfo& info : setting_infos()) {
    std::visit(
        [&](auto member) {
          if (settings.*member == wanted.*member) return;
          (is_reloadable(info.key) ? change.taken : change.left).push_back(info.key);
          if (is_reloadable(info.key)) settings.*member = wanted.*member;
        },
        info.member);
  }
  return change;
}

}  // namespace sluice::daemon
