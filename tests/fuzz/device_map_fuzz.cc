// Reads any text as a device map. What is read must print and read back the same, and be fit for
// numbering, drawing no conclusion from it but that nothing breaks.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "topology/cores/core_allocator.h"
#include "topology/map/device_map_json.h"
#include "topology/map/logical_ids.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::topology;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto map = parse_device_map(text);
  if (!map.is_ok()) return 0;
  const auto again = parse_device_map(print_device_map(*map));
  if (!again.is_ok() || !(*again == *map)) std::abort();
  if (map->devices.size() > 32) return 0;  // larger ones take long and find nothing new
  static_cast<void>(with_logical_ids(*map));
  CoreAllocator allocator(*map);
  if (allocator.num_cores() > 256) return 0;
  static_cast<void>(allocator.reserve(sluice::terms::CoreGroupId(1), {.num_cores = 2}).is_ok());
  static_cast<void>(allocator.reserve(sluice::terms::CoreGroupId(2), {}).is_ok());
  return 0;
}
