// A small HTTP server for metrics and health: one request per connection, no caching.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/http/http_request.h"
#include "rpc/server/listen/unix_listener.h"
#include "rpc/wire/address.h"

namespace sluice::daemon {

inline constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

struct HttpAnswer {
  int status = 200;
  std::string type = std::string(kPlainText);
  std::string body;
};

/// One thread that polls. Closes connections that have no answer within `kDeadlineNs`; a new one
/// beyond `kMaxConnections` takes the place of the one that has been silent for the longest.
/// Answers GET only.
class HttpServer {
 public:
  /// Returns the content of a path for a client. Called on the server's thread, for one request at
  /// a time.
  using Answer = std::function<HttpAnswer(const std::string& path, const terms::Peer& peer)>;

  static constexpr std::int64_t kDeadlineNs = 5'000'000'000;
  static constexpr std::size_t kMaxConnections = 32;

  /// `unix_socket`: mode, group and users of a Unix socket; its path is the address's.
  /// Requires: a host that only this machine reaches, as there is no TLS.
  /// Fails: as rpc::server::UnixListener::create; kUnavailable for a port in use.
  static Result<std::unique_ptr<HttpServer>> start(const rpc::wire::Address& address,
                                                   rpc::server::UnixSocketOptions unix_socket,
                                                   Answer answer, service::Log& log);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Closes all connections.
  ~HttpServer();

  /// The requested address, with the port that the system chose for port 0.
  const std::string& address() const { return address_; }

 private:
  /// reading --request complete or refused--> writing --all written--> ending --peer closes--> gone
  enum class Phase { kReading, kWriting, kEnding };
  struct Connection {
    int fd = -1;
    terms::Peer peer;
    std::int64_t deadline_ns = 0;
    Phase phase = Phase::kReading;
    std::string bytes = {};  ///< read so far, or left to write
  };

  HttpServer(Answer answer, service::Log& log) : answer_(std::move(answer)), log_(log) {}
  Status listen(rpc::wire::Address address);
  void add(int fd, const terms::Peer& peer);
  void loop();
  bool wait();
  void accept_all();
  void take_added();
  void make_room();
  /// False: the connection is over.
  bool advance(Connection& connection) const;
  bool read_some(Connection& connection) const;
  void prepare_answer(Connection& connection, const HttpRequest& request) const;
  static bool write_some(Connection& connection);

  const Answer answer_;
  service::Log& log_;
  std::string address_;
  int listen_fd_ = -1;  ///< of TCP
  int wake_fd_ = -1;
  std::atomic<bool> is_over_ = false;
  std::mutex added_mutex_;
  std::vector<std::pair<int, terms::Peer>> added_;  ///< by the Unix listener's thread
  std::list<Connection> connections_;
  std::thread thread_;
  std::unique_ptr<rpc::server::UnixListener>
      unix_listener_;  ///< last member, destroyed first: its thread calls into the others
};

}  // namespace sluice::daemon
