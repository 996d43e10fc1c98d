// What the device is, which part of it a guest has, and who else is there.
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
  if (guest.cores() != nullptr) {
    constexpr auto kCount = static_cast<std::size_t>(cuda::CuDeviceAttribute::kMultiprocessorCount);
    facts.attributes[kCount] = guest.cores()->num_cores();
  }
  std::memcpy(answer.room.data(), &facts, sizeof(facts));
  answer.payload_bytes = sizeof(facts);
  return CuResult::kSuccess;
}

CuResult cores_take(Guest& guest, const Call& call, Answer& answer) {
  std::int32_t granted = 0;
  const auto body = from_body<HandleBody>(call.body);
  const CuResult result = guest.take_cores(body.value, &granted);
  answer.words[0] = static_cast<std::uint64_t>(granted);
  return result;
}

CuResult guests(Guest& guest, const Call& /*call*/, Answer& answer) {
  if (!guest.may_list()) return CuResult::kNotPermitted;
  const std::vector<GuestLine> lines =
      guest.device().guests().lines(guest.use(), answer.room.size() / sizeof(GuestLine));
  const std::size_t bytes = lines.size() * sizeof(GuestLine);
  if (bytes > 0) std::memcpy(answer.room.data(), lines.data(), bytes);
  answer.payload_bytes = static_cast<std::uint32_t>(bytes);
  return CuResult::kSuccess;
}

}  // namespace

void fill_device_entries(EntryTable& table) {
  table[CallKind::kGuests] = guests;
  table[CallKind::kDeviceFacts] = device_facts;
  table[CallKind::kCoresTake] = cores_take;
}

}  // namespace sluice::guest
