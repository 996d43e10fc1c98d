// The Unix socket beside gRPC's: clients pass memfds through it, which gRPC cannot carry.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "rpc/server/listen/unix_listener.h"
#include "service/call_threads.h"
#include "service/service.h"
#include "shm/fd_socket.h"

namespace sluice::rpc::server {

/// Path of the side socket of the gRPC socket at `path`. Empty if it would exceed the system's
/// limit.
std::string side_path(const std::string& path);

/// One thread serves all connections and never blocks on one of them. A connection brings one
/// request. A connection that registered a ring stays open as long as the ring, so that each side
/// sees when the other one ends. The server closes other connections after the answer.
class SideSocket {
 public:
  /// Access is as to gRPC's socket. Both outlive it. Fails: as UnixListener::create.
  static Result<std::unique_ptr<SideSocket>> create(service::Service& service,
                                                    service::CallThreads& threads,
                                                    const UnixSocketOptions& options);
  SideSocket(const SideSocket&) = delete;
  SideSocket& operator=(const SideSocket&) = delete;
  ~SideSocket();

  /// As UnixListener's.
  void pass_on(std::string_view role, std::vector<PassedFd>& to) const {
    listener_->pass_on(role, to);
  }
  void leave() { listener_->leave(); }

 private:
  struct Connection;

  SideSocket(service::Service& service, service::CallThreads& threads);
  void add(int fd, const terms::Peer& peer);
  void loop();
  void drop_oldest();
  void look_after(Connection& connection, std::int64_t now_ns);
  void receive(Connection& connection);
  void answer(Connection& connection);
  Result<std::uint64_t> serve(Connection& connection);

  service::Service& service_;
  service::CallThreads& threads_;
  shm::Fd wake_fd_;
  std::mutex mutex_;
  bool is_stopping_ = false;
  std::vector<std::unique_ptr<Connection>> arrived_;
  std::vector<std::unique_ptr<Connection>> connections_;  ///< the thread's own
  std::unique_ptr<UnixListener> listener_;
  std::thread thread_;
};

}  // namespace sluice::rpc::server
