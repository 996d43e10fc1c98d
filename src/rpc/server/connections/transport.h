// The bytes of a client's connection, as its loop reads and writes them.
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace sluice::rpc::server {

/// What a read or write did. None of both: nothing goes now, until the descriptor is ready again.
struct Moved {
  std::size_t num_bytes = 0;
  bool is_closed = false;  ///< by the other end, or broken
};

/// Owns the connected, non-blocking descriptor. Used by one thread.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual int fd() const = 0;
  virtual Moved read(std::span<std::byte> to) = 0;
  /// Nothing is left to be read until the descriptor is ready again, after a read that did not fill
  /// its room.
  virtual bool is_read_short() const = 0;
  virtual Moved write(std::span<const std::byte> from) = 0;
  /// Common name of the certificate that the other end proved, after the first bytes; empty
  /// without one, or if it is no name (check_name).
  virtual std::string certificate_name() const { return {}; }
};

/// The bytes as they are.
std::unique_ptr<Transport> make_plain_transport(int fd);
/// Decrypted; the first reads shake hands. Null without memory, and `fd` is closed.
std::unique_ptr<Transport> make_tls_transport(int fd, SSL_CTX& context);

}  // namespace sluice::rpc::server
