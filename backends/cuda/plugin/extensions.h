// What the plug-in offers beyond the table: events of the driver, memory of others on a device, and
// tactics of operations.
#pragma once

#include "sluice/extensions/events.h"
#include "sluice/extensions/foreign_memory.h"
#include "sluice/extensions/variants.h"

namespace sluice::cuda {

// They live as long as the library.
extern const sluice_events kEvents;
extern const sluice_foreign_memory kForeignMemory;
extern const sluice_variants kVariants;

}  // namespace sluice::cuda
