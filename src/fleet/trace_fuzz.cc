// Reads any bytes as a trace of requests; what it gives is sound.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fleet/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::fleet;
  const auto trace = parse_trace({reinterpret_cast<const char*>(data), size});
  if (!trace.is_ok()) return 0;
  std::int64_t last_ns = 0;
  for (const Arrival& arrival : trace->arrivals) {
    const bool is_sound = arrival.time_ns >= last_ns && arrival.model < trace->models.size() &&
                          arrival.rows >= 1 && arrival.deadline_ns >= 0;
    if (!is_sound) std::abort();
    last_ns = arrival.time_ns;
  }
  return 0;
}
