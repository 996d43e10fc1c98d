// The other end of a connection over TLS.
#pragma once

#include <openssl/types.h>

#include <string>

#include "base/status.h"

namespace sluice::tls {

/// Common name of the certificate that the other end proved, once both have shaken hands; empty
/// without one, or if it is no name (check_name).
std::string certificate_name(const SSL& ssl);

/// Lets a client's handshake fail with a server whose certificate is not of `host`: a name, which
/// is asked for too (RFC 6066, section 3), or an IP address. Before the handshake. Fails:
/// kResourceExhausted.
Status expect_host(SSL& ssl, const std::string& host);

}  // namespace sluice::tls
