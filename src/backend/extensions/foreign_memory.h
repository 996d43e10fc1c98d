// Memory of devices that others in the process allocated.
#pragma once

#include "backend/group.h"

namespace sluice::backend {

/// Whether command lists of the group's backend may copy from and to `size_bytes` bytes at
/// `address`, as memory of the group's device. Safe from any thread.
/// Fails: kFailedPrecondition for a plug-in without the extension "sluice.foreign_memory/1"; as
///        `check` of that extension.
Status check_foreign_memory(const Group& group, const void* address, std::int64_t size_bytes);

}  // namespace sluice::backend
