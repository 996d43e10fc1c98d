// Certificates of both ends of TLS; a server's may be exchanged while it serves.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"

namespace sluice::tls {

/// PEM files; empty: none.
struct Files {
  std::string certificate = {};
  std::string key = {};
  /// A server turns away clients without a certificate of this authority. For a client: who signed
  /// the server's certificate; empty: an authority that this system trusts.
  std::string ca = {};
};

/// What connections begin with: TLS 1.2 or 1.3, without renegotiation. Immutable. An open
/// connection keeps the one it began with.
using Context = std::shared_ptr<SSL_CTX>;

/// What a server agrees on by ALPN (RFC 7301). A client that offers nothing of it is turned away.
/// A client that offers nothing at all is served.
/// kHttp: HTTP/2 or HTTP/1.1. kHttp2: what gRPC speaks.
enum class Protocols { kHttp, kHttp2 };

/// Null where no certificate is named: no TLS. Requires: its key is named, too.
/// Fails: kInvalidArgument for text that is not PEM, or a key of another certificate; errors of
/// reading.
Result<Context> read_server(const Files& files, Protocols protocols);
/// Reads the files of clients of HTTP/1.1.
/// Fails: as read_server; kInvalidArgument for half of a pair.
Result<Context> read_client(const Files& files);

/// What a server's new connections begin with. Safe from any thread.
class Current {
 public:
  /// Null: connections without TLS.
  explicit Current(Context context) : context_(std::move(context)) {}

  Context get() const {
    const std::lock_guard lock(mutex_);
    return context_;
  }
  /// From now on. Nothing happens where TLS is not served: a port keeps what it speaks.
  void set(Context context) {
    const std::lock_guard lock(mutex_);
    if (context_ != nullptr) context_ = std::move(context);
  }

 private:
  mutable std::mutex mutex_;
  Context context_;
};

}  // namespace sluice::tls
