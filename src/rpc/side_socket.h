// The Unix socket beside gRPC's: clients pass memfds through it, which gRPC cannot carry.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rpc/unix_listener.h"
#include "service/service.h"
#include "service/workers.h"
#include "shm/fd_socket.h"

namespace sluice::rpc {

/// Of the gRPC socket at `path`; empty where that is too long for another one beside it.
std::string side_path(const std::string& path);

/// Serves all connections on one thread, none of which can hold up another. A connection brings one
/// request. One that registered a ring stays open for as long as the ring does: by it each side
/// learns of the other's end. Others are closed after the answer.
class SideSocket {
 public:
  /// Access is as to gRPC's socket. Both outlive it. Fails: as UnixListener::create.
  static Result<std::unique_ptr<SideSocket>> create(service::Service& service,
                                                    service::Workers& workers,
                                                    const UnixSocketOptions& options);
  SideSocket(const SideSocket&) = delete;
  SideSocket& operator=(const SideSocket&) = delete;
  ~SideSocket();

 private:
  struct Connection;

  SideSocket(service::Service& service, service::Workers& workers);
  void add(int fd, const service::Peer& peer);
  void loop();
  void drop_oldest();
  void look_after(Connection& connection, std::int64_t now_ns);
  void receive(Connection& connection);
  void answer(Connection& connection);
  Result<std::uint64_t> serve(Connection& connection);

  service::Service& service_;
  service::Workers& workers_;
  shm::Fd wake_fd_;
  std::mutex mutex_;
  bool is_stopping_ = false;
  std::vector<std::unique_ptr<Connection>> arrived_;
  std::vector<std::unique_ptr<Connection>> connections_;  ///< the thread's own
  std::unique_ptr<UnixListener> listener_;
  std::thread thread_;
};

}  // namespace sluice::rpc
