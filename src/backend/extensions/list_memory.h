// What plug-ins tell of finished command lists: the memory that they hold, and whether they take
// other kernels.
#pragma once

#include <optional>

#include "backend/backend.h"
#include "sluice/extensions/step_times.h"

namespace sluice::backend {

/// As the plug-in tells; nullopt if it lacks the extension "sluice.list_memory/1".
/// Fails: what asking for the extension reports; kInternal for a negative number.
Result<std::optional<std::int64_t>> held_bytes(const Backend& backend,
                                               const sluice_command_list* list);

/// The plug-in's extension "sluice.list_exchange/1"; null if it lacks it.
/// Fails: what asking for the extension reports.
Result<const sluice_list_exchange*> find_exchange(const Backend& backend);

}  // namespace sluice::backend
