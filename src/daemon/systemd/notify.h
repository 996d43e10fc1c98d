// What a service tells systemd: sd_notify(3), written to its socket by ourselves.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace sluice::daemon {

/// "READY=1", "STOPPING=1", "WATCHDOG=1", several on lines of their own. Nothing happens where the
/// environment names no NOTIFY_SOCKET. Fails: kUnavailable.
Status notify_manager(std::string_view state);

/// How often the manager wants to hear from this process (WATCHDOG_USEC); 0: never.
std::int64_t watchdog_ns();

}  // namespace sluice::daemon
