// Settings of the daemon that the Open Inference Protocol reads and changes.
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "base/utf8.h"
#include "open_inference/log_settings.h"
#include "open_inference/models.h"
#include "open_inference/trace_settings.h"
#include "rpc/server/open_inference/inference_handlers.h"

namespace sluice::rpc::server {

using service::Caller;
using service::Service;
using terms::Role;

namespace {

open_inference::TraceSettings from_proto(const inference::TraceSettingRequest& from) {
  open_inference::TraceSettings settings;
  for (const auto& [name, setting] : from.settings()) {
    settings[name] = {setting.value().begin(), setting.value().end()};
  }
  return settings;
}

void to_proto(const open_inference::TraceSettings& from, inference::TraceSettingResponse& to) {
  for (const auto& [name, values] : from) {
    auto& setting = (*to.mutable_settings())[name];
    for (const std::string& value : values) setting.add_value(value);
  }
}

Result<open_inference::LogSettings> from_proto(const inference::LogSettingsRequest& from) {
  using Value = inference::LogSettingsRequest::SettingValue;
  open_inference::LogSettings settings;
  for (const auto& [name, value] : from.settings()) {
    switch (value.parameter_choice_case()) {
      case Value::kBoolParam: settings[name] = value.bool_param(); break;
      case Value::kUint32Param: settings[name] = value.uint32_param(); break;
      case Value::kStringParam: settings[name] = value.string_param(); break;
      default:
        return invalid_argument("log setting \"{}\": has no value", valid_utf8(name.substr(0, 64)));
    }
  }
  return settings;
}

void to_proto(const open_inference::LogSettings& from, inference::LogSettingsResponse& to) {
  for (const auto& [name, setting] : from) {
    auto& entry = (*to.mutable_settings())[name];
    const auto set = [&entry](const auto& value) {
      using Value = std::decay_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, bool>) {
        entry.set_bool_param(value);
      } else if constexpr (std::is_same_v<Value, std::uint32_t>) {
        entry.set_uint32_param(value);
      } else {
        entry.set_string_param(value);
      }
    };
    std::visit(set, setting);
  }
}

Status change_trace(Service& service, const Caller& caller,
                    const inference::TraceSettingRequest& request,
                    inference::TraceSettingResponse& response) {
  const std::string& model = request.model_name();
  if (!model.empty()) SLUICE_TRY(open_inference::find_handle(service, caller, model, {}));
  SLUICE_TRY(open_inference::change_trace_settings(service, caller, from_proto(request), model));
  to_proto(open_inference::trace_settings(service), response);
  return ok_status();
}

Status change_log(Service& service, const Caller& caller,
                  const inference::LogSettingsRequest& request,
                  inference::LogSettingsResponse& response) {
  const auto wanted = SLUICE_TRY(from_proto(request));
  SLUICE_TRY(open_inference::change_log_settings(service, caller, wanted));
  to_proto(open_inference::log_settings(service.log()), response);
  return ok_status();
}

}  // namespace

void add_setting_calls(Handlers& handlers, Methods& methods) {
  CallerMethods<Service>(methods, kInferenceService, handlers, handlers.service())
      .now("LogSettings", Role::kMonitor, change_log)
      .now("TraceSetting", Role::kMonitor, change_trace);
}

}  // namespace sluice::rpc::server
