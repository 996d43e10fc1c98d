// Any text as the description of an emulated machine.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "emulator/description_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace emulator = sluice::cuda::emulator;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  emulator::Description description;
  const auto parsed = emulator::parse_description(text, &description);
  if (!parsed.is_ok() && parsed.text.empty()) std::abort();
  if (description.devices.empty() || description.devices.size() > 16) std::abort();
  for (const auto& device : description.devices) {
    if (device.multiprocessors < 1 || device.memory_bytes < 1 || device.major < 7) std::abort();
  }
  return 0;
}
