// How much memory a finished command list holds.
#pragma once

#include <optional>

#include "backend/backend.h"
#include "sluice/step_times.h"

namespace sluice::backend {

/// As the plug-in tells; nullopt if it lacks the extension "sluice.list_memory/1".
/// Fails: what asking for the extension reports; kInternal for a negative number.
Result<std::optional<std::int64_t>> held_bytes(const Backend& backend,
                                               const sluice_command_list* list);

}  // namespace sluice::backend
