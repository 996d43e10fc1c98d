// What the device is.
#include <algorithm>
#include <cstring>

#include "guest/proxy/guest.h"

namespace sluice::guest {
namespace {

using cuda::CuResult;

CuResult device_facts(Guest& guest, const Call& /*call*/, Answer& answer) {
  const cuda::DriverTable& driver = guest.driver();
  const cuda::CuDevice device = guest.device().ordinal();
  DeviceFacts facts;
  CuResult result = driver.device_get_name(facts.name.data(), facts.name.size() - 1, device);
  if (result == CuResult::kSuccess) result = driver.driver_get_version(&facts.driver_version);
  if (result != CuResult::kSuccess) return result;
  cuda::CuUuid uuid = {};
  if (driver.device_get_uuid(&uuid, device) == CuResult::kSuccess) {
    std::ranges::copy(uuid.bytes, facts.uuid.begin());
  }
  facts.memory_bytes = guest.quota();
  for (std::size_t i = 0; i < kNumAttributes; ++i) {
    int value = 0;
    const auto attribute = static_cast<cuda::CuDeviceAttribute>(i);
    const bool has_it =
        driver.device_get_attribute(&value, attribute, device) == CuResult::kSuccess;
    facts.attributes[i] = has_it ? value : kUnknownAttribute;
  }
  std::memcpy(answer.room.data(), &facts, sizeof(facts));
  answer.payload_bytes = sizeof(facts);
  return CuResult::kSuccess;
}

}  // namespace

void fill_device_entries(EntryTable& table) { table[CallKind::kDeviceFacts] = device_facts; }

}  // namespace sluice::guest
