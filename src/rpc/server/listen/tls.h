// Certificates of a server, which may be exchanged while it serves.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace sluice::rpc::server {

/// PEM files. With `client_ca`, clients without a certificate of that authority are turned away.
struct TlsFiles {
  std::string certificate = {};
  std::string key = {};
  std::string client_ca = {};
};

/// What connections are greeted with: TLS 1.2 or 1.3, and HTTP/2 agreed on. Immutable. An open
/// connection keeps the one it began with.
using TlsContext = std::shared_ptr<SSL_CTX>;

/// Requires: a certificate and a key are named.
/// Fails: kInvalidArgument for text that is not PEM, or a key of another certificate; errors of
/// reading.
Result<TlsContext> read_tls(const TlsFiles& files);

}  // namespace sluice::rpc::server
