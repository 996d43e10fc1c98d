#include "open_inference/log_settings.h"

#include <string_view>
#include <type_traits>

#include "base/utf8.h"

namespace sluice::open_inference {
namespace {

using service::LogLevel;

constexpr const char* kFormat = "ISO8601";

/// The settings, but for the file and the format, which nobody changes.
struct Levels {
  bool error = true;
  bool warning = true;
  bool info = true;
  std::uint32_t verbose = 0;
};

Levels levels_of(LogLevel level) {
  Levels levels;
  levels.warning = level >= LogLevel::kWarning;
  levels.info = level >= LogLevel::kInfo;
  levels.verbose = level >= LogLevel::kTrace ? 2 : level >= LogLevel::kDebug ? 1 : 0;
  return levels;
}

Result<LogLevel> level_of(const Levels& levels) {
  if (!levels.error) {
    return make_error(Code::kUnimplemented, "log_error: the daemon always writes errors");
  }
  if (!levels.warning && levels.info) {
    return make_error(Code::kUnimplemented,
                      "log_warning: without warnings there is no information either; set log_info "
                      "to false, too");
  }
  if (!levels.info && levels.verbose > 0) {
    return make_error(Code::kUnimplemented, "log_verbose_level: {} needs log_info, which is false",
                      levels.verbose);
  }
  if (levels.verbose >= 2) return LogLevel::kTrace;
  if (levels.verbose == 1) return LogLevel::kDebug;
  if (levels.info) return LogLevel::kInfo;
  return levels.warning ? LogLevel::kWarning : LogLevel::kError;
}

template <typename Value>
Status take(const std::string& name, const LogSetting& from, Value& to) {
  const auto* value = std::get_if<Value>(&from);
  if (value == nullptr) {
    return invalid_argument("{}: expected {}", name,
                            std::is_same_v<Value, bool>            ? "true or false"
                            : std::is_same_v<Value, std::uint32_t> ? "a number from 0"
                                                                   : "a text");
  }
  to = *value;
  return ok_status();
}

/// A client may send back what it read.
Status check_fixed(const std::string& name, const LogSetting& from, std::string_view fixed,
                   std::string_view reason) {
  std::string value;
  SLUICE_TRY(take(name, from, value));
  if (value == fixed) return ok_status();
  return make_error(Code::kUnimplemented, "{}: {}", name, reason);
}

Status change(const std::string& name, const LogSetting& value, Levels& levels) {
  if (name == "log_error") return take(name, value, levels.error);
  if (name == "log_warning") return take(name, value, levels.warning);
  if (name == "log_info") return take(name, value, levels.info);
  if (name == "log_verbose_level") return take(name, value, levels.verbose);
  if (name == "log_file") {
    return check_fixed(name, value, "", "clients do not choose files of the daemon");
  }
  if (name == "log_format")
    return check_fixed(name, value, kFormat, "the daemon has ISO8601 alone");
  return invalid_argument("there is no log setting \"{}\"",
                          valid_utf8(name.substr(0, kMaxNameBytes)));
}

}  // namespace

LogSettings log_settings(const service::Log& log) {
  const Levels levels = levels_of(log.level());
  return {{"log_error", levels.error}, {"log_warning", levels.warning},
          {"log_info", levels.info},   {"log_verbose_level", levels.verbose},
          {"log_file", std::string()}, {"log_format", std::string(kFormat)}};
}

Status change_log_settings(service::Service& service, const service::Caller& caller,
                           const LogSettings& wanted) {
  if (wanted.empty()) return ok_status();
  SLUICE_TRY(service.authorize(caller.peer, terms::Role::kControl));
  service::Log& log = service.log();
  const LogLevel before = log.level();
  Levels levels = levels_of(before);
  for (const auto& [name, value] : wanted) SLUICE_TRY(change(name, value, levels));
  const LogLevel now = SLUICE_TRY(level_of(levels));
  if (now == before) return ok_status();
  // The line itself is information: it is written before the level falls, or after it rises.
  if (now > before) log.set_level(now);
  log.add(LogLevel::kInfo, "daemon.log_level from={} to={}", static_cast<int>(before),
          static_cast<int>(now));
  log.set_level(now);
  return ok_status();
}

}  // namespace sluice::open_inference
