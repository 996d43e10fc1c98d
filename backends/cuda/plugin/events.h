// The extension sluice.events/1 over events of the driver.
#pragma once

#include "sluice/extensions/events.h"

namespace sluice::cuda {

/// Lives as long as the library.
extern const sluice_events kEvents;

}  // namespace sluice::cuda
