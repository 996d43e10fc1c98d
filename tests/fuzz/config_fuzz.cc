// Bytes as the configuration file of sluiced.
#include <cstdint>
#include <string_view>

#include "daemon/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sluice::daemon::Settings settings;
  sluice::daemon::Origins origins;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!sluice::daemon::apply_config(text, settings, origins).is_ok()) return 0;
  if (sluice::daemon::check_settings(settings).is_ok()) {
    (void)sluice::daemon::print_settings(settings, origins);
  }
  return 0;
}
