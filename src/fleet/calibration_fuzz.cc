// Reads any bytes as a calibration: what is taken can be written and read again, and simulated.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fleet/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::fleet;
  const auto models = parse_calibration({reinterpret_cast<const char*>(data), size});
  if (!models.is_ok()) return 0;
  if (!parse_calibration(calibration_json(*models)).is_ok()) std::abort();
  Trace trace;
  trace.models = {models->front().name};
  trace.arrivals = {{0, 0, 1, 0}, {0, 0, 1, 1'000'000}, {5'000'000, 0, 2, 0}};
  const auto known = ModelsOfTrace::create(*models, trace, "");
  if (!known.is_ok()) std::abort();
  const int counts[] = {1, 2};
  if (!plan_for(*known, trace, {}, {}, counts).is_ok()) std::abort();
  return 0;
}
