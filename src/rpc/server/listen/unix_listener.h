// A Unix socket that says who is at the other end.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/inherited_fds.h"
#include "rpc/server/listen/acceptor.h"
#include "service/log.h"
#include "terms/server/server.h"

namespace sluice::rpc::server {

struct UnixSocketOptions {
  std::string path;
  mode_t mode = 0660;
  /// Owning group of the socket, by name; empty: the process's.
  std::string group;
  /// Who may connect, beside root and the daemon's own user; empty: whoever the mode lets in.
  std::vector<uid_t> users;
  /// Clients may send file descriptors.
  bool takes_descriptors = false;
  /// Has the socket that listens at `path` already, or its lock; null: nothing is inherited.
  InheritedFds* inherited = nullptr;
};

/// Accepts on a thread of its own until it is destroyed; then removes the socket, unless a service
/// manager keeps it or the next process has it.
class UnixListener {
 public:
  /// Takes a connected, non-blocking file descriptor.
  using OnAccept = std::function<void(int fd, const terms::Peer& peer)>;

  /// Replaces a socket that nobody serves any more. `log` outlives the listener.
  /// Fails: kAlreadyExists if a process serves the path; kPermissionDenied, kNotFound,
  ///        kInvalidArgument (no such group).
  static Result<std::unique_ptr<UnixListener>> create(const UnixSocketOptions& options,
                                                      OnAccept on_accept, service::Log& log);
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;
  ~UnixListener();

  /// Adds the listening socket and its lock, for the next process. `role`: what it serves.
  void pass_on(std::string_view role, std::vector<PassedFd>& to) const;
  /// Accepts no more, and leaves the socket to the process that has it too.
  void leave();

 private:
  UnixListener(UnixSocketOptions options, OnAccept on_accept, service::Log& log)
      : options_(std::move(options)), on_accept_(std::move(on_accept)), log_(log) {}
  Status lock();
  Status bind();
  Status set_access() const;
  void take(int fd) const;
  bool may_connect(const terms::Peer& peer) const;

  const UnixSocketOptions options_;
  const OnAccept on_accept_;
  service::Log& log_;
  int lock_fd_ = -1;
  InheritedFds::Claimed socket_;
  bool is_left_ = false;
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace sluice::rpc::server
