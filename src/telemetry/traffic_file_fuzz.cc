// Reads any bytes as a recording of requests, and writes the requests again: the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "telemetry/traffic_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::telemetry;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // With and without the magic that random bytes never have.
  for (const std::string& file : {std::string(bytes), std::string(kTrafficMagic).append(bytes)}) {
    const auto requests = parse_traffic(file);
    if (!requests.is_ok()) continue;
    std::string again(kTrafficMagic);
    for (const RecordedRequest& request : *requests) again += to_bytes(request);
    if (!file.starts_with(again)) std::abort();
  }
  return 0;
}
