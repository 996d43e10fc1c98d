#include "backend/extensions/device_reset.h"

#include <algorithm>

#include "backend/handle.h"
#include "backend/handshake.h"
#include "sluice/extensions/topology.h"

namespace sluice::backend {

namespace {

Result<const sluice_device_reset*> find_table(const Backend& backend) {
  const auto* table = static_cast<const sluice_device_reset*>(
      SLUICE_TRY(backend.find_extension(SLUICE_DEVICE_RESET)));
  return table == nullptr || table->struct_size < sizeof(sluice_device_reset) ? nullptr : table;
}

}  // namespace

Result<bool> is_lost_for_good(const Backend& backend) {
  const bool is_on_host = std::ranges::all_of(backend.devices(), &DeviceInfo::has_host_memory);
  return !is_on_host && SLUICE_TRY(find_table(backend)) == nullptr;
}

Status reset_device(const Backend& backend, int device) {
  const auto* table = SLUICE_TRY(find_table(backend));
  if (table == nullptr) {
    return unimplemented(
        "backend \"{}\" cannot reset its devices; start the process that uses them anew",
        backend.name());
  }
  return call_plugin(backend.name(), [&](sluice_message* message) {
    return table->reset(backend.handle(), device, message);
  });
}

}  // namespace sluice::backend
