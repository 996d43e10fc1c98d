#include "rpc/server/connections/transport.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "shm/fd_socket.h"
#include "tls/peer.h"

namespace sluice::rpc::server {
namespace {

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(int fd) : fd_(fd) {}

  int fd() const override { return fd_.get(); }
  Moved read(std::span<std::byte> to) override {
    return moved(recv(fd_.get(), to.data(), to.size(), 0), true);
  }
  bool is_read_short() const override { return true; }
  Moved write(std::span<const std::byte> from) override {
    // A peer that is gone is an error of the call and no signal.
    return moved(send(fd_.get(), from.data(), from.size(), MSG_NOSIGNAL), false);
  }

 private:
  static Moved moved(ssize_t size, bool is_read) {
    if (size > 0) return {static_cast<std::size_t>(size), false};
    if (size == 0) return {0, is_read};
    return {0, errno != EAGAIN && errno != EINTR};
  }

  const shm::Fd fd_;
};

class TlsTransport final : public Transport {
 public:
  TlsTransport(int fd, SSL* ssl) : fd_(fd), ssl_(ssl, SSL_free) {}

  int fd() const override { return fd_.get(); }
  Moved read(std::span<std::byte> to) override {
    // SSL_get_error looks at the thread's queue of errors, where one of another connection may be.
    ERR_clear_error();
    return moved(SSL_read(ssl_.get(), to.data(), fitting(to.size())));
  }
  bool is_read_short() const override { return false; }  // a read is a record at most
  Moved write(std::span<const std::byte> from) override {
    ERR_clear_error();
    return moved(SSL_write(ssl_.get(), from.data(), fitting(from.size())));
  }
  std::string certificate_name() const override { return tls::certificate_name(*ssl_); }

 private:
  static int fitting(std::size_t size) {
    return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
  }
  Moved moved(int size) {
    if (size > 0) return {static_cast<std::size_t>(size), false};
    const int error = SSL_get_error(ssl_.get(), size);
    return {0, error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE};
  }

  const shm::Fd fd_;
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl_;  ///< before fd_ goes
};

}  // namespace

std::unique_ptr<Transport> make_plain_transport(int fd) {
  return std::make_unique<PlainTransport>(fd);
}

std::unique_ptr<Transport> make_tls_transport(int fd, SSL_CTX& context) {
  SSL* const ssl = SSL_new(&context);
  if (ssl == nullptr) {
    close(fd);
    return nullptr;
  }
  auto transport = std::make_unique<TlsTransport>(fd, ssl);
  if (SSL_set_fd(ssl, fd) != 1) return nullptr;
  SSL_set_accept_state(ssl);
  return transport;
}

}  // namespace sluice::rpc::server
