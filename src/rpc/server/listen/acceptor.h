// Accepts connections on a thread of its own, and survives the lack of file descriptors.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "service/log.h"

namespace sluice::rpc::server {

/// Where the process has no descriptor left, a connection is closed at once and not left in the
/// backlog: its client learns it, and later clients are served. A descriptor in reserve makes that
/// possible.
class Acceptor {
 public:
  /// Takes a connected, non-blocking file descriptor.
  using OnAccept = std::function<void(int fd)>;

  /// `listen_fds` listen, do not block, and stay the caller's. `log` outlives the acceptor.
  /// Fails: kUnavailable without descriptors.
  static Result<std::unique_ptr<Acceptor>> create(std::vector<int> listen_fds, OnAccept on_accept,
                                                  service::Log& log);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  /// Joins the thread.
  ~Acceptor();

 private:
  Acceptor(std::vector<int> listen_fds, OnAccept on_accept, service::Log& log)
      : listen_fds_(std::move(listen_fds)), on_accept_(std::move(on_accept)), log_(log) {}
  void loop();
  void accept_one(int listen_fd);
  void refuse_one(int listen_fd, const std::string& why);

  const std::vector<int> listen_fds_;
  const OnAccept on_accept_;
  service::Log& log_;
  int stop_fd_ = -1;
  int reserve_fd_ = -1;
  std::thread thread_;
};

}  // namespace sluice::rpc::server
