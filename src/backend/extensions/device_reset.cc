#include "backend/extensions/device_reset.h"

#include "backend/handle.h"
#include "backend/handshake.h"
#include "sluice/extensions/topology.h"

namespace sluice::backend {

Status reset_device(const Backend& backend, int device) {
  const auto* table = static_cast<const sluice_device_reset*>(
      SLUICE_TRY(backend.find_extension(SLUICE_DEVICE_RESET)));
  if (table == nullptr || table->struct_size < sizeof(sluice_device_reset)) {
    return unimplemented("backend \"{}\" cannot reset its devices", backend.name());
  }
  return call_plugin(backend.name(), [&](sluice_message* message) {
    return table->reset(backend.handle(), device, message);
  });
}

}  // namespace sluice::backend
