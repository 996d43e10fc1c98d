#include "rpc/server/listen/acceptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/process/start_thread.h"
#include "service/clients/refusals.h"

namespace sluice::rpc::server {
namespace {

/// A descriptor to give up when the process has no more. With its number a connection can be
/// accepted and closed; else it would stay in the queue, and poll would return at once for ever.
int open_reserve() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

Result<std::unique_ptr<Acceptor>> Acceptor::create(std::vector<int> listen_fds, OnAccept on_accept,
                                                   service::Log& log) {
  std::unique_ptr<Acceptor> acceptor(
      new Acceptor(std::move(listen_fds), std::move(on_accept), log));
  acceptor->stop_fd_ = eventfd(0, EFD_CLOEXEC);
  acceptor->reserve_fd_ = open_reserve();
  if (acceptor->stop_fd_ < 0) {
    return make_error(Code::kUnavailable, "eventfd: {}", std::strerror(errno));
  }
  acceptor->thread_ = SLUICE_TRY(start_thread([raw = acceptor.get()] { raw->loop(); }));
  return acceptor;
}

Acceptor::~Acceptor() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    const ssize_t written = write(stop_fd_, &one, sizeof(one));
    (void)written;  // the counter cannot be full
    thread_.join();
  }
  if (stop_fd_ >= 0) close(stop_fd_);
  if (reserve_fd_ >= 0) close(reserve_fd_);
}

void Acceptor::loop() {
  std::vector<pollfd> waits = {{stop_fd_, POLLIN, 0}};
  for (const int fd : listen_fds_) waits.push_back({fd, POLLIN, 0});
  while (true) {
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
    if ((waits[0].revents & POLLIN) != 0) return;
    for (std::size_t i = 1; i < waits.size(); ++i) {
      if ((waits[i].revents & POLLIN) != 0) accept_one(waits[i].fd);
    }
  }
}

void Acceptor::accept_one(int listen_fd) {
  const int fd = accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    const int error = errno;
    if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS) {
      refuse_one(listen_fd, std::strerror(error));
    }
    return;
  }
  on_accept_(fd);
}

void Acceptor::refuse_one(int listen_fd, const std::string& why) {
  if (reserve_fd_ >= 0) close(reserve_fd_);
  const int fd = accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) close(fd);
  reserve_fd_ = open_reserve();
  service::count_refused_connection();
  log_.add(service::LogLevel::kWarning, "connection.refused reason={}", service::in_quotes(why));
  // Slower than clients can connect, faster than they notice.
  pollfd stop = {stop_fd_, POLLIN, 0};
  poll(&stop, 1, 10);
}

}  // namespace sluice::rpc::server
