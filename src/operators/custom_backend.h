// The backend of the operators that the program registered: one device, the host.
#pragma once

#include "base/status.h"

namespace sluice::operators {

/// Adds the backend "custom" to the process, at the first call. Safe from any thread.
Status add_custom_backend();

}  // namespace sluice::operators
