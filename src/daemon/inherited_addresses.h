// Settings beside the sockets that listen already.
#pragma once

#include <vector>

#include "base/status.h"
#include "daemon/handover/inherited.h"
#include "daemon/settings.h"

namespace sluice::daemon {

/// A socket's name is the key of a setting, and any other name means "listen". Adds the addresses
/// that a service manager keeps, in place of the default of `listen` if there are any for it, and
/// puts the ports of a predecessor's sockets in the place of port 0.
/// Fails: kInvalidArgument if a setting that takes one address would have two.
Status apply_inheritance(const std::vector<InheritedAddress>& addresses, bool is_listen_set,
                         Settings& settings);

}  // namespace sluice::daemon
