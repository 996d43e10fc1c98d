// What the plug-in offers beyond the table: events of the driver, and memory of others on a device.
#pragma once

#include "sluice/extensions/events.h"
#include "sluice/extensions/foreign_memory.h"

namespace sluice::cuda {

// They live as long as the library.
extern const sluice_events kEvents;
extern const sluice_foreign_memory kForeignMemory;

}  // namespace sluice::cuda
