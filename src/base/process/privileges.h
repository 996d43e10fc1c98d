// What a process gives up for good.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace sluice {

/// Becomes this user, in this group alone, without capabilities; nothing it might execute has more.
/// -1 for both: stays who it is, still without capabilities. All threads.
/// Fails: kPermissionDenied.
Status drop_privileges(std::int64_t user, std::int64_t group);

}  // namespace sluice
