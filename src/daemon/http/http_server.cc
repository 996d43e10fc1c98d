#include "daemon/http/http_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "rpc/server/listen/tcp_listener.h"

namespace sluice::daemon {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr int kBacklog = 128;

std::string_view phrase_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 413: return "Content Too Large";
    case 431: return "Request Header Fields Too Large";
    case 505: return "HTTP Version Not Supported";
    default: return "Bad Request";
  }
}

std::string text_of(const HttpAnswer& answer) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}",
      answer.status, phrase_of(answer.status), answer.type, answer.body.size(),
      answer.status == 405 ? "Allow: GET\r\n" : "", answer.body);
}

/// Whether the call would block, so that a later try may succeed.
bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

Status system_error(const rpc::wire::Address& address, std::string_view what) {
  return make_error(Code::kUnavailable, "metrics: {}: {}: {}", address.to_string(), what,
                    std::strerror(errno));
}

/// A socket bound to the first of the host's addresses that takes it.
/// Requires: a loopback host.
Result<int> bind_tcp(const rpc::wire::Address& address) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &found);
  if (error != 0) {
    return make_error(Code::kUnavailable, "metrics: {}: {}", address.to_string(),
                      gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int fd = socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, one->ai_addr, one->ai_addrlen) == 0) return fd;
    const int why = errno;
    close(fd);
    errno = why;
  }
  return system_error(address, "bind");
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const rpc::wire::Address& address,
                                                      rpc::server::UnixSocketOptions unix_socket,
                                                      Answer answer, service::Log& log) {
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(answer), log));
  server->wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (server->wake_fd_ < 0) return system_error(address, "eventfd");
  if (!address.is_unix) SLUICE_TRY(server->listen(address));
  // The thread runs before the Unix listener exists, whose thread hands connections to it.
  server->thread_ = std::thread([raw = server.get()] { raw->loop(); });
  if (address.is_unix) {
    unix_socket.path = address.path;
    const auto on_accept = [raw = server.get()](int fd, const terms::Peer& peer) {
      raw->add(fd, peer);
    };
    server->unix_listener_ =
        SLUICE_TRY(rpc::server::UnixListener::create(unix_socket, on_accept, log));
    server->address_ = address.to_string();
  }
  return server;
}

Status HttpServer::listen(rpc::wire::Address address) {
  listen_fd_ = SLUICE_TRY(bind_tcp(address));
  if (::listen(listen_fd_, kBacklog) != 0) return system_error(address, "listen");
  address.port = rpc::server::port_of(listen_fd_);
  address_ = address.to_string();
  return ok_status();
}

HttpServer::~HttpServer() {
  // The listener first: its thread calls add(). Then the polling thread, which owns connections_.
  unix_listener_ = nullptr;
  is_over_ = true;
  if (thread_.joinable()) {
    eventfd_write(wake_fd_, 1);
    thread_.join();
  }
  take_added();
  for (const Connection& connection : connections_) close(connection.fd);
  for (const int fd : {listen_fd_, wake_fd_}) {
    if (fd >= 0) close(fd);
  }
}

void HttpServer::add(int fd, const terms::Peer& peer) {
  {
    const std::lock_guard lock(added_mutex_);
    added_.emplace_back(fd, peer);
  }
  eventfd_write(wake_fd_, 1);
}

void HttpServer::take_added() {
  const std::lock_guard lock(added_mutex_);
  for (auto& [fd, peer] : std::exchange(added_, {})) {
    if (connections_.size() >= kMaxConnections) make_room();
    connections_.push_back({fd, std::move(peer), system_clock().now_ns() + kDeadlineNs});
  }
}

/// Closes the connection that has been silent for the longest, so that silent ones cannot keep out
/// a scraper, which sends its request at once. If all have asked, the oldest goes.
void HttpServer::make_room() {
  auto oldest = std::ranges::find(connections_, Phase::kReading, &Connection::phase);
  if (oldest == connections_.end()) oldest = connections_.begin();
  close(oldest->fd);
  connections_.erase(oldest);
}

void HttpServer::loop() {
  while (!is_over_) {
    if (!wait()) return;
    take_added();
    const std::int64_t now_ns = system_clock().now_ns();
    for (auto it = connections_.begin(); it != connections_.end();) {
      const bool goes_on = now_ns < it->deadline_ns && advance(*it);
      if (!goes_on) close(it->fd);
      it = goes_on ? std::next(it) : connections_.erase(it);
    }
  }
}

/// Until something happens or a deadline passes; accepts. False if the system cannot wait.
bool HttpServer::wait() {
  std::vector<pollfd> waits = {{wake_fd_, POLLIN, 0}, {listen_fd_, POLLIN, 0}};  // -1 is skipped
  std::int64_t deadline_ns = kNoDeadline;
  for (const Connection& connection : connections_) {
    const short event = connection.phase == Phase::kWriting ? POLLOUT : POLLIN;
    waits.push_back({connection.fd, event, 0});
    deadline_ns = std::min(deadline_ns, connection.deadline_ns);
  }
  int timeout_ms = -1;
  if (deadline_ns != kNoDeadline) {
    const std::int64_t left_ns = std::max<std::int64_t>(deadline_ns - system_clock().now_ns(), 0);
    timeout_ms = static_cast<int>(left_ns / kNsPerMs) + 1;
  }
  if (poll(waits.data(), waits.size(), timeout_ms) < 0) {
    if (errno == EINTR) return true;
    log_.add(service::LogLevel::kError, "metrics.end reason={}",
             service::in_quotes(std::strerror(errno)));
    return false;
  }
  eventfd_t count = 0;
  if ((waits[0].revents & POLLIN) != 0) eventfd_read(wake_fd_, &count);
  if ((waits[1].revents & POLLIN) != 0) accept_all();
  return true;
}

void HttpServer::accept_all() {
  for (int i = 0; i < kBacklog; ++i) {
    const int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      add(fd, terms::Peer{"metrics"});
      continue;
    }
    if (would_block() || errno == ECONNABORTED) return;
    // Out of file descriptors: the connection stays in the backlog, so pause instead of accepting
    // in a busy loop.
    log_.add(service::LogLevel::kWarning, "connection.refused reason={}",
             service::in_quotes(std::strerror(errno)));
    pollfd stop = {wake_fd_, POLLIN, 0};
    poll(&stop, 1, 100);
    return;
  }
}

bool HttpServer::advance(Connection& connection) const {
  if (connection.phase == Phase::kReading && !read_some(connection)) return false;
  if (connection.phase == Phase::kWriting && !write_some(connection)) return false;
  if (connection.phase != Phase::kEnding) return true;
  // Closing a socket with unread bytes sends a reset, and the peer may lose the answer: read until
  // it closes.
  std::array<char, kMaxRequestBytes> rest = {};
  const ssize_t size = recv(connection.fd, rest.data(), rest.size(), 0);
  return size > 0 || (size < 0 && would_block());
}

bool HttpServer::read_some(Connection& connection) const {
  std::array<char, kMaxRequestBytes> more = {};
  const ssize_t size =
      recv(connection.fd, more.data(), kMaxRequestBytes - connection.bytes.size(), 0);
  if (size < 0) return would_block();
  if (size == 0) return false;
  connection.bytes.append(more.data(), static_cast<std::size_t>(size));
  const HttpRequest request = parse_http_request(connection.bytes);
  if (request.state != HttpRequest::State::kIncomplete) prepare_answer(connection, request);
  return true;
}

void HttpServer::prepare_answer(Connection& connection, const HttpRequest& request) const {
  HttpAnswer answer;
  if (request.state == HttpRequest::State::kComplete) {
    answer = answer_(request.path, connection.peer);
  } else {
    answer.status = request.status;
    answer.body = fmt::format("{}\n", request.reason);
  }
  connection.bytes = text_of(answer);
  connection.phase = Phase::kWriting;
}

bool HttpServer::write_some(Connection& connection) {
  while (!connection.bytes.empty()) {
    const ssize_t size =
        send(connection.fd, connection.bytes.data(), connection.bytes.size(), MSG_NOSIGNAL);
    if (size < 0) return would_block();
    connection.bytes.erase(0, static_cast<std::size_t>(size));
  }
  connection.phase = Phase::kEnding;
  return shutdown(connection.fd, SHUT_WR) == 0;
}

}  // namespace sluice::daemon
