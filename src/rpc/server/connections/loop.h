// A thread that serves the connections of gRPC's clients.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "rpc/server/connections/connection.h"
#include "rpc/server/connections/offenders.h"
#include "service/log.h"
#include "shm/fd_socket.h"

namespace sluice::rpc::server {

/// Serves connections on one thread with one buffer. A connection that breaks a rule ends,
/// and the log says which; new connections of its host are held, unread, until Offenders admits
/// them.
class Loop {
 public:
  /// All outlive the loop. `max_age_ns`: as Connection's. Fails: kResourceExhausted without
  /// descriptors.
  static Result<std::unique_ptr<Loop>> create(const CallSettings& settings, Offenders& offenders,
                                              service::Log& log, std::int64_t max_age_ns);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { stop(); }

  // From any thread.

  /// `host`: the peer's address without a port, or the user of a Unix socket. `is_trusted`: who may
  /// do everything anyway needs not keep the rules, and stays where it is.
  void add(std::unique_ptr<Transport> client, terms::Peer peer, std::string host, bool is_trusted);
  /// Asks clients that are not trusted to send their next calls over new connections, and waits for
  /// nothing.
  void say_goodbye() { order(Order::kGoodbye); }
  /// Takes no new calls.
  void finish() { order(Order::kFinish); }
  /// Waits until no call is left, at the latest until `end_ns`.
  void wait_for_calls(std::int64_t end_ns) { queue_.wait_for_calls(end_ns); }
  /// Ends the calls that go on, sends what is left to be sent and ends all connections. Blocks for
  /// less than a second, and until the handlers of the calls have finished them. May be called
  /// again.
  void stop();

 private:
  using Id = std::uint64_t;
  enum class Order : std::uint8_t { kNone, kGoodbye, kFinish, kStop };  ///< in this order
  struct Entry {
    std::unique_ptr<Connection> connection;
    std::string host;
    bool is_trusted = false;
    bool is_open = false;         ///< the log knows it
    bool is_ready = false;        ///< in `ready_`
    bool is_held = false;         ///< in `held_`
    bool waits_for_room = false;  ///< epoll tells of it
  };

  Loop(const CallSettings& settings, Offenders& offenders, service::Log& log,
       std::int64_t max_age_ns);
  void run();
  bool is_stopped(std::int64_t now_ns);
  void order(Order order);
  void wait(std::int64_t now_ns);
  int timeout_ms(std::int64_t now_ns) const;
  void take_event(const epoll_event& event);
  void take_arrived();
  void take_order();
  void release_held(std::int64_t now_ns);
  bool gives_way() const;
  void pump_ready(std::int64_t now_ns);
  void pump(Id id, Entry& entry, std::int64_t now_ns);
  void look(std::int64_t now_ns);
  void end(Id id, const Status& reason);
  void log_begin(Id id, Entry& entry);
  void log_end(const Entry& entry, const Status& reason);
  void set_ready(Id id);
  void set_touched_ready();
  void watch_room(Id id, Entry& entry) const;
  bool watch(int operation, int fd, Id id, std::uint32_t events) const;
  void wake() const;

  const CallSettings& settings_;
  Offenders& offenders_;
  service::Log& log_;
  const std::int64_t max_age_ns_;
  shm::Fd epoll_;
  shm::Fd wake_;
  CallQueue queue_;
  std::mutex mutex_;
  Order order_ = Order::kNone;
  std::vector<Entry> arrived_;
  std::unordered_map<Id, Entry> connections_;  ///< this and below: the thread's own
  std::vector<Id> ready_;
  std::vector<Id> held_;  ///< oldest first
  Order done_ = Order::kNone;
  std::int64_t looked_ns_ = 0;
  std::int64_t released_ns_ = 0;
  std::int64_t stop_ns_ = 0;  ///< when it stops; 0: not soon
  Allowance warnings_;        ///< in the log
  std::vector<std::byte> scratch_;
  std::thread thread_;
};

}  // namespace sluice::rpc::server
