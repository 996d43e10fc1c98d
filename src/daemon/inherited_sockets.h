// Sockets that a service manager listens on for us: sd_listen_fds(3), done by ourselves.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace sluice::daemon {

/// By path, the file descriptors of the Unix sockets that were handed to this process; none without
/// a manager. Takes them out of the environment, so that no child believes they are its own.
/// Fails: kInvalidArgument for what is no listening Unix socket with a path.
Result<std::map<std::string, int>> take_inherited_sockets();

}  // namespace sluice::daemon
