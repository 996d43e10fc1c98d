// Stands before gRPC: what a client sends is checked before gRPC sees it.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "rpc/server/guard/offenders.h"
#include "rpc/server/guard/relay.h"
#include "service/log.h"

namespace sluice::rpc::server {

/// Relays all its connections on one thread with one buffer. Until its greeting a connection costs
/// one descriptor and less than 5 KB; then three descriptors, and what gRPC takes. A connection
/// that breaks a rule ends, and the log says which; new connections of its host are held, unread,
/// until Offenders admits them. gRPC gets only as many new connections at a time as it keeps up
/// with.
class Guard {
 public:
  /// Takes gRPC's end of a connection, and closes it in the end.
  using HandOver = std::function<void(int fd, const terms::Peer& peer)>;

  /// `log` outlives the guard. `relay_bytes`: of one read, and the most that waits for one end of a
  /// connection. Fails: kResourceExhausted without descriptors.
  static Result<std::unique_ptr<Guard>> create(HandOver hand_over, service::Log& log,
                                               const http2::FrameLimits& limits = {},
                                               std::size_t relay_bytes = kRelayBytes);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { stop(); }

  /// `host`: the peer's address without a port, or the user of a Unix socket. Safe from any thread.
  void add(std::unique_ptr<Transport> client, terms::Peer peer, std::string host);
  /// Asks all clients to send their next calls over new connections (Goodbye), and waits for
  /// nothing. Safe from any thread.
  void say_goodbye();
  /// Passes on what gRPC has sent and ends all connections. Requires: gRPC has ended, or its
  /// connections break. Blocks for less than a second. May be called again.
  void stop();

 private:
  using Id = std::uint64_t;
  struct Entry {
    Relay relay;
    std::string host;
    bool is_ready = false;        ///< in `ready_`
    bool is_held = false;         ///< in `held_`
    bool waits_for_room = false;  ///< at gRPC's end; epoll tells of it
  };

  Guard(HandOver hand_over, service::Log& log, const http2::FrameLimits& limits);
  void loop();
  void wait(int timeout_ms);
  void take_event(const epoll_event& event);
  void take_arrived();
  void send_goodbyes();
  void release_held(std::int64_t now_ns);
  void pump_ready();
  void pump(Id id, Entry& entry);
  void give_turns();
  void end_slow(std::int64_t now_ns);
  void end(Id id, const Status& reason);
  void set_ready(Id id);
  bool watch(int fd, Id id, std::uint32_t events) const;
  void watch_room(Id id, Entry& entry) const;
  void unwatch(int fd) const;
  void wake() const;
  Result<shm::Fd> open_inner(const terms::Peer& peer) const;

  const HandOver hand_over_;
  service::Log& log_;
  const http2::FrameLimits limits_;
  shm::Fd epoll_;
  shm::Fd wake_;
  std::mutex mutex_;
  bool is_stopping_ = false;
  bool wants_goodbyes_ = false;
  std::vector<Entry> arrived_;
  std::unordered_map<Id, Entry> relays_;  ///< this and below: the thread's own
  std::vector<Id> ready_;
  std::vector<Id> held_;  ///< oldest first
  Offenders offenders_;
  std::deque<Id> wait_for_turn_;
  int work_for_grpc_ = 0;  ///< relays that are
  Allowance warnings_;     ///< in the log
  std::vector<std::byte> scratch_;
  Id next_id_ = 1;  ///< 0 is the wake-up
  std::thread thread_;
};

}  // namespace sluice::rpc::server
