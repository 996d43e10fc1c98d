#include "daemon/reload.h"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>

namespace sluice::daemon {
namespace {

/// Settings that devices and sockets were created from are not reloadable.
constexpr std::array<std::string_view, 27> kReloadable = {
    "token_file",           "model_folders",   "max_upload_bytes",
    "sessions_per_user",    "session_models",  "session_cores",
    "session_requests",     "stream_requests", "drain_seconds",
    "drain_notice_seconds", "log_level",       "isolation",
    "tls_certificate",      "tls_key",         "tls_client_ca",
    "upload_idle_seconds",  "require_session", "session_answer_bytes",
    "stream_answer_bytes",  "exclusive_cores", "exchange_peers",
    "exchange_sources",     "roles",           "max_run_seconds",
    "trace_rate",           "trace_slower_ms", "program_folders"};

/// Ports are made with TLS or without, and with an authority of clients or without.
template <typename Value>
bool turns_tls_on_or_off(std::string_view key, const Value& before, const Value& wanted) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return key.starts_with("tls_") && before.empty() != wanted.empty();
  }
  return false;
}

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
          const bool is_taken = is_reloadable(info.key) &&
                                !turns_tls_on_or_off(info.key, settings.*member, wanted.*member);
          (is_taken ? change.taken : change.left).push_back(info.key);
          if (is_taken) settings.*member = wanted.*member;
        },
        info.member);
  }
  return change;
}

telemetry::TraceSettings trace_settings(const Settings& settings) {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  return {.rate = settings.trace_rate, .slower_than_ns = settings.trace_slower_ms * kNsPerMs};
}

telemetry::TraceSettings take_over_tracing(const Settings& before, const Settings& after,
                                           telemetry::TraceSettings now) {
  const telemetry::TraceSettings wanted = trace_settings(after);
  if (before.trace_rate != after.trace_rate) now.rate = wanted.rate;
  if (before.trace_slower_ms != after.trace_slower_ms) now.slower_than_ns = wanted.slower_than_ns;
  return now;
}

}  // namespace sluice::daemon
