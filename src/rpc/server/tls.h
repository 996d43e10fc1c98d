// Certificates of a server, which may be exchanged while it serves.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"

namespace sluice::rpc::server {

/// PEM files. With `client_ca`, clients without a certificate of that authority are turned away.
struct TlsFiles {
  std::string certificate = {};
  std::string key = {};
  std::string client_ca = {};
};

/// What was in the files.
struct TlsTexts {
  std::string certificate;
  std::string key;
  std::string client_ca;
};

/// Requires: a certificate and a key are named.
/// Fails: kInvalidArgument for text that is not PEM, or a key of another certificate; errors of
/// reading.
Result<TlsTexts> read_tls(const TlsFiles& files);

/// What new connections are greeted with. Safe across threads.
class TlsCertificates {
 public:
  explicit TlsCertificates(TlsTexts texts);
  ~TlsCertificates();
  TlsCertificates(const TlsCertificates&) = delete;
  TlsCertificates& operator=(const TlsCertificates&) = delete;

  /// Replaces the certificates of new connections; open connections keep the old ones.
  /// Requires: `texts` comes from read_tls, and has a client_ca exactly if the first texts had one.
  void set(TlsTexts texts);

  /// For any number of ports; they live no longer than this.
  std::shared_ptr<grpc::ServerCredentials> credentials();

 private:
  class Credentials;
  friend class Credentials;

  std::mutex mutex_;
  TlsTexts texts_;
  int generation_ = 1;
  std::shared_ptr<Credentials> credentials_;
};

}  // namespace sluice::rpc::server
