#include "rpc/server/listen/tcp_listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

namespace sluice::rpc::server {
namespace {

constexpr int kTcpBacklog = 128;

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Status unavailable(const std::string& host, int port, std::string_view why) {
  return make_error(Code::kUnavailable, "cannot listen on {}:{}: {}", host, port, why);
}

Result<Addresses> resolve(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) return unavailable(host, port, gai_strerror(error));
  return Addresses(found, freeaddrinfo);
}

int bind_to(int fd, const addrinfo& where, int port) {
  const auto number = htons(static_cast<std::uint16_t>(port));
  if (where.ai_family == AF_INET6) {
    sockaddr_in6 address = {};
    std::memcpy(&address, where.ai_addr, sizeof(address));
    address.sin6_port = number;
    return bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  sockaddr_in address = {};
  std::memcpy(&address, where.ai_addr, sizeof(address));
  address.sin_port = number;
  return bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

/// Listening, or -1 with errno set.
int listen_on(const addrinfo& where, int port) {
  const int fd = socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // IPv4 has a socket of its own at the same port.
  if (where.ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  if (bind_to(fd, where, port) == 0 && listen(fd, kTcpBacklog) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int port_in(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

/// "[::1]:5555" or "127.0.0.1:5555", and the same without the port.
std::pair<std::string, std::string> peer_of(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {"?:?", "?"};
  std::string host = ip_host(reinterpret_cast<const sockaddr&>(address));
  return {at_port(host, port_in(address)), host};
}

}  // namespace

int port_of(int fd) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
  return port_in(bound);
}

Result<std::unique_ptr<TcpListener>> TcpListener::create(const std::string& host, int port,
                                                         OnAccept on_accept, service::Log& log,
                                                         InheritedFds* inherited) {
  const Addresses addresses = SLUICE_TRY(resolve(host, port));
  std::unique_ptr<TcpListener> listener(new TcpListener);
  listener->port_ = port;
  int error = 0;
  std::set<std::string> seen;  // /etc/hosts may name an address twice
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    const auto* bytes = reinterpret_cast<const char*>(one->ai_addr);
    if (!seen.insert(std::string(bytes, one->ai_addrlen)).second) continue;
    InheritedFds::Claimed socket =
        claim_socket(inherited, at_port(ip_host(*one->ai_addr), listener->port_));
    if (socket.fd < 0) socket.fd = listen_on(*one, listener->port_);
    if (socket.fd < 0) {
      // A machine without IPv6 still resolves "localhost" to ::1.
      if (errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT) error = errno;
      continue;
    }
    listener->sockets_.push_back(socket);
    // The first socket chooses the port, and those of the other addresses take the same.
    if (listener->port_ == 0) listener->port_ = port_of(socket.fd);
  }
  if (error != 0) return unavailable(host, port, std::strerror(error));
  if (listener->sockets_.empty())
    return unavailable(host, port, "this machine has no such address");
  const auto take = [on_accept = std::move(on_accept)](int fd) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const auto [address, peer_host] = peer_of(fd);
    on_accept(fd, terms::Peer{address}, peer_host);
  };
  std::vector<int> fds;
  for (const auto& socket : listener->sockets_) fds.push_back(socket.fd);
  listener->acceptor_ = SLUICE_TRY(Acceptor::create(std::move(fds), take, log));
  return listener;
}

TcpListener::~TcpListener() {
  acceptor_ = nullptr;
  for (const auto& socket : sockets_) close(socket.fd);
}

void TcpListener::pass_on(std::string_view role, std::vector<PassedFd>& to) const {
  for (const auto& socket : sockets_)
    to.push_back({socket.fd, passed_name(role, socket.is_managed)});
}

}  // namespace sluice::rpc::server
