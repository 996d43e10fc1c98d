#include "open_inference/trace_settings.h"

#include "base/text/number.h"
#include "base/utf8.h"
#include "telemetry/telemetry.h"

namespace sluice::open_inference {
namespace {

constexpr const char* kLevel = "trace_level";
constexpr const char* kRate = "trace_rate";
constexpr const char* kOff = "OFF";
constexpr const char* kTimestamps = "TIMESTAMPS";

/// Settings of Triton that have one value here.
const TraceSettings& fixed_settings() {
  static const TraceSettings settings = {{"trace_mode", {"opentelemetry"}},
                                         {"trace_count", {"-1"}},
                                         {"log_frequency", {"0"}},
                                         {"trace_file", {""}}};
  return settings;
}

Status change_rate(const std::string& text, telemetry::TraceSettings& to) {
  if (const auto rate = to_number<std::int64_t>(text); rate && *rate >= 0) {
    to.rate = *rate;
    return ok_status();
  }
  return invalid_argument("{}: \"{}\" is no whole number from 0", kRate,
                          valid_utf8(text.substr(0, kMaxNameBytes)));
}

Status change_level(const std::vector<std::string>& levels, bool has_collector,
                    telemetry::TraceSettings& to) {
  bool is_on = false;
  for (const std::string& level : levels) {
    if (level != kOff && level != kTimestamps) {
      return make_error(Code::kUnimplemented, "{}: the daemon has {} and {}, not \"{}\"", kLevel,
                        kOff, kTimestamps, valid_utf8(level.substr(0, kMaxNameBytes)));
    }
    is_on = is_on || level == kTimestamps;
  }
  if (is_on && !has_collector) {
    return make_error(Code::kFailedPrecondition,
                      "{}: the daemon has no collector of spans; start it with --otlp", kLevel);
  }
  to.is_on = is_on;
  return ok_status();
}

Status change(const std::string& name, const std::vector<std::string>& values, bool has_collector,
              telemetry::TraceSettings& to) {
  if (values.empty()) {
    return make_error(Code::kUnimplemented, "{}: a value is missing; none is taken back",
                      valid_utf8(name.substr(0, kMaxNameBytes)));
  }
  if (name == kLevel) return change_level(values, has_collector, to);
  if (name == kRate && values.size() == 1) return change_rate(values.front(), to);
  const auto fixed = fixed_settings().find(name);
  if (fixed == fixed_settings().end()) {
    return invalid_argument("there is no trace setting \"{}\"",
                            valid_utf8(name.substr(0, kMaxNameBytes)));
  }
  // A client may send back what it read.
  if (values == fixed->second) return ok_status();
  return make_error(Code::kUnimplemented, "{}: it is \"{}\", and stays so", name,
                    fixed->second.front());
}

}  // namespace

bool is_list(const std::string& name) { return name == kLevel; }

TraceSettings trace_settings(const service::Service& service) {
  const telemetry::Telemetry& telemetry = service.telemetry();
  const telemetry::TraceSettings now = telemetry.trace_settings();
  TraceSettings settings = fixed_settings();
  settings[kLevel] = {now.is_on && telemetry.has_span_sink() ? kTimestamps : kOff};
  settings[kRate] = {std::to_string(now.rate)};
  return settings;
}

Status change_trace_settings(service::Service& service, const service::Caller& caller,
                             const TraceSettings& wanted, const std::string& model) {
  if (wanted.empty()) return ok_status();
  SLUICE_TRY(service.authorize(caller.peer, terms::Role::kControl));
  if (!model.empty()) {
    return make_error(Code::kUnimplemented,
                      "models share the daemon's trace settings; change those, without a model");
  }
  telemetry::Telemetry& telemetry = service.telemetry();
  telemetry::TraceSettings settings = telemetry.trace_settings();
  for (const auto& [name, values] : wanted) {
    SLUICE_TRY(change(name, values, telemetry.has_span_sink(), settings));
  }
  telemetry.set_trace_settings(settings);
  service.log().add(service::LogLevel::kInfo, "daemon.trace_settings is_on={} rate={}",
                    settings.is_on, settings.rate);
  return ok_status();
}

}  // namespace sluice::open_inference
