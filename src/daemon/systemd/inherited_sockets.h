// Sockets that a service manager listens on for us: sd_listen_fds(3), done by ourselves.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace sluice::daemon {

/// File descriptors of the Unix sockets passed to this process, by path; empty without a manager.
/// Removes the variables from the environment, so that child processes do not claim the sockets.
/// Fails: kInvalidArgument for a descriptor that is not a listening Unix socket with a path.
Result<std::map<std::string, int>> take_inherited_sockets();

}  // namespace sluice::daemon
