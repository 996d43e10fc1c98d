// Any text as the description of a machine, and as a fault to inject.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "description/description.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  sluice::sim::Description description;
  const auto parsed = sluice::sim::parse_description(text, &description);
  if (!parsed.is_ok() && parsed.text.empty()) std::abort();
  for (const auto& device : description.devices) {
    if (device.cores < 1 || device.memory_bytes < 0) std::abort();
  }
  sluice::sim::Json json;
  auto status = sluice::sim::parse_json(text, &json);
  if (status.is_ok()) sluice::sim::read_fault(json, "fault", 2, &status);
  return 0;
}
