// Which pages of browsers a daemon answers: a guard against DNS rebinding and against requests that
// a page of another site sends (CSRF).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/call.h"

namespace sluice::daemon {

/// Whether `field`, the Host of a request, is "localhost", an IP address, or one of `names`, of
/// which
/// "*" is any; with or without a port. A request without a Host is no browser's: true.
bool is_own_host(std::string_view field, const std::vector<std::string>& names);

/// Whether a page of `origin` (RFC 6454: "http://localhost:8000") may send requests: its host is
/// loopback's or of `names` without "*"; or it is where the request goes to, `host`. True without
/// an origin: browsers send it with every request that another site's page makes by POST. "null",
/// the origin of pages that hide theirs, is refused.
bool is_own_origin(std::string_view origin, std::string_view host,
                   const std::vector<std::string>& names);

/// Answers 421 to requests for other hosts: a page of a browser on this machine, whose own host was
/// made to resolve to loopback, sends such requests, and could read the replies. Answers 403 to
/// requests of other origins: such a page cannot read the replies, but it could unload models.
http::Handler for_own_pages(std::vector<std::string> names, http::Handler handler);

}  // namespace sluice::daemon
