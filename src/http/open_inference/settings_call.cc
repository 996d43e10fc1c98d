#include "http/open_inference/settings_call.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "base/utf8.h"
#include "http/json_text.h"
#include "http/open_inference/short_json.h"
#include "open_inference/log_settings.h"
#include "open_inference/trace_settings.h"

namespace sluice::http {
namespace {

using nlohmann::json;
using open_inference::LogSetting;
using open_inference::LogSettings;
using open_inference::TraceSettings;

/// Null takes a setting back: no value.
Result<std::vector<std::string>> values_of(const std::string& name, const json& value) {
  std::vector<std::string> values;
  if (value.is_null()) return values;
  for (const json& one : value.is_array() ? value : json::array({value})) {
    if (!one.is_string()) {
      return invalid_argument("{}: a trace setting is a text, or an array of texts",
                              valid_utf8(name.substr(0, kMaxNameBytes)));
    }
    values.push_back(one.get<std::string>());
  }
  return values;
}

Result<LogSetting> setting_of(const std::string& name, const json& value) {
  if (value.is_boolean()) return LogSetting(value.get<bool>());
  if (value.is_string()) return LogSetting(value.get<std::string>());
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max()) {
    return LogSetting(static_cast<std::uint32_t>(value.get<std::uint64_t>()));
  }
  return invalid_argument("{}: a setting is true, false, a text or a number from 0 to 4294967295",
                          valid_utf8(name.substr(0, kMaxNameBytes)));
}

}  // namespace

Result<Reply> trace_settings_call(service::Service& service, const service::Caller& caller,
                                  const Request& request, const std::string& model) {
  if (request.method != "GET" && request.method != "POST") return wrong_method("GET, POST");
  TraceSettings wanted;
  if (request.method == "POST") {
    const json object = SLUICE_TRY(read_short_json(request.body->bytes()));
    for (const auto& [name, value] : object.items()) {
      wanted[name] = SLUICE_TRY(values_of(name, value));
    }
  }
  SLUICE_TRY(open_inference::change_trace_settings(service, caller, wanted, model));
  json settings;
  for (const auto& [name, values] : open_inference::trace_settings(service)) {
    if (open_inference::is_list(name)) {
      settings[name] = values;
    } else {
      settings[name] = values.front();
    }
  }
  return Reply{200, kJson, json_text(settings)};
}

Result<Reply> log_settings_call(service::Service& service, const service::Caller& caller,
                                const Request& request) {
  if (request.method != "GET" && request.method != "POST") return wrong_method("GET, POST");
  if (request.method == "POST") {
    LogSettings wanted;
    const json object = SLUICE_TRY(read_short_json(request.body->bytes()));
    for (const auto& [name, value] : object.items()) {
      wanted[name] = SLUICE_TRY(setting_of(name, value));
    }
    SLUICE_TRY(open_inference::change_log_settings(service, caller, wanted));
  }
  json settings;
  for (const auto& [name, setting] : open_inference::log_settings(service.log())) {
    std::visit([&, &name = name](const auto& value) { settings[name] = value; }, setting);
  }
  return Reply{200, kJson, json_text(settings)};
}

}  // namespace sluice::http
