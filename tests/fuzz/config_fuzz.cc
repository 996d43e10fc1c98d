// Reads any text as the daemon's configuration. Accepted values are within the bounds of each
// setting, and their JSON reads back as equal settings.
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::daemon;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Settings settings;
  Origins origins;
  if (!apply_config(text, settings, origins).is_ok()) return 0;
  for (const SettingInfo& info : setting_infos()) {
    const auto* number = std::get_if<std::int64_t Settings::*>(&info.member);
    if (number == nullptr) continue;
    const std::int64_t value = settings.*(*number);
    if (value < info.least || value > info.most) std::abort();
  }
  static_cast<void>(check_settings(settings).is_ok());
  const auto printed = nlohmann::json::parse(print_settings(settings, origins));
  nlohmann::json again;
  for (const auto& [key, value] : printed.items()) {
    if (value["origin"] == "file") again[key] = value["value"];
  }
  if (again.is_null()) return 0;
  Settings same;
  Origins same_origins;
  if (!apply_config(again.dump(), same, same_origins).is_ok()) std::abort();
  if (nlohmann::json::parse(print_settings(same, same_origins)) != printed) std::abort();
  return 0;
}
