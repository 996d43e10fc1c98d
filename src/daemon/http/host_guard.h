// Which hosts a daemon answers to: a guard against DNS rebinding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/call.h"

namespace sluice::daemon {

/// Whether `field`, the Host of a request, is a name or an address of loopback, or one of `names`;
/// with or without a port. A request without a Host is no browser's: true.
bool is_own_host(std::string_view field, const std::vector<std::string>& names);

/// Answers 421 to requests for other hosts: a page of a browser on this machine, whose own host was
/// made to resolve to loopback, sends such requests, and could read the replies.
http::Handler for_own_hosts(std::vector<std::string> names, http::Handler handler);

}  // namespace sluice::daemon
