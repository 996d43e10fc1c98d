#include "backend/extensions/device_reset.h"

#include <algorithm>

#include "backend/handle.h"
#include "backend/handshake.h"
#include "sluice/extensions/topology.h"

namespace sluice::backend {

namespace {

Result<const sluice_device_reset*> find_reset(const Backend& backend) {
  return backend.find_table<sluice_device_reset>(SLUICE_DEVICE_RESET);
}

}  // namespace

Result<bool> is_lost_for_good(const Backend& backend) {
  const bool is_on_host = std::ranges::all_of(backend.devices(), &DeviceInfo::has_host_memory);
  return !is_on_host && SLUICE_TRY(find_reset(backend)) == nullptr;
}

Status reset_device(const Backend& backend, int device) {
  const auto* table = SLUICE_TRY(find_reset(backend));
  if (table == nullptr) {
    return unimplemented(
        "backend \"{}\" cannot reset its devices; start the process that uses them anew",
        backend.name());
  }
  return call_plugin(backend.name(), table->reset, backend.handle(), device);
}

}  // namespace sluice::backend
