#pragma once

#include "sluice/backend.h"

namespace sluice::sim {

/// "sluice.topology/1" and "sluice.virtual_time/1"; null for other names.
const void* find_extension(sluice_backend* backend, const char* name);

}  // namespace sluice::sim
