#include "rpc/server/server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>

#include "rpc/server/guard/guard.h"
#include "rpc/server/handlers.h"
#include "rpc/server/listen/connection_limits.h"
#include "rpc/server/listen/tcp_listener.h"
#include "rpc/server/side_socket.h"
#include "service/clients/refusals.h"

namespace sluice::rpc::server {
namespace {

constexpr std::size_t kMaxCallThreads = 32;
constexpr std::size_t kMaxWaitingCalls = 1024;
constexpr int kKeepAliveMs = 10'000;
constexpr std::int64_t kLeastConnectionBytes = std::int64_t{256} << 20;
constexpr int kMaxHeaderBytes = 16 << 10;  ///< of a call; tokens and names fit many times
constexpr int kMaxCallsPerConnection = 1024;

class GrpcServer final : public Server {
 public:
  GrpcServer(service::Service& service, const ServerOptions& options)
      : service_(service),
        threads_(kMaxCallThreads, kMaxWaitingCalls),
        handlers_(service, peers_, threads_, options.tokens, options.max_message_bytes),
        connections_(static_cast<std::size_t>(options.connections),
                     static_cast<std::size_t>(options.connections_per_peer)) {}
  ~GrpcServer() override { shutdown(0); }

  Status start(const ServerOptions& options) {
    const auto local = std::ranges::find_if(options.addresses, &wire::Address::is_unix);
    if (local != options.addresses.end()) service_.set_side_socket(side_path(local->path));
    SLUICE_TRY(start_grpc(options));
    for (wire::Address address : options.addresses) {
      if (address.is_unix) {
        SLUICE_TRY(listen_unix(options, address.path));
      } else {
        address.port = SLUICE_TRY(listen_tcp(address));
      }
      addresses_.push_back(address.to_string());
    }
    return ok_status();
  }

  std::vector<std::string> addresses() const override { return addresses_; }

  void set_tokens(std::vector<service::AccessToken> tokens) override {
    handlers_.set_tokens(std::move(tokens));
  }

  void set_tls(TlsContext context) override {
    const std::lock_guard lock(tls_mutex_);
    if (tls_ != nullptr) tls_ = std::move(context);
  }

  void shutdown(std::int64_t grace_ns) override {
    tcp_listeners_.clear();
    listeners_.clear();
    sides_.clear();
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::nanoseconds(grace_ns));
    server_->Wait();
    if (guard_ != nullptr) guard_->stop();
    server_ = nullptr;  // all calls are done
    threads_.close();
  }

 private:
  Status start_grpc(const ServerOptions& options) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&handlers_);
    const auto limit = static_cast<int>(
        std::min<std::int64_t>(options.max_message_bytes, std::numeric_limits<int>::max()));
    builder.SetMaxReceiveMessageSize(limit);
    builder.SetMaxSendMessageSize(limit);
    // Of all connections together, before their calls are authenticated: two messages, or room for
    // small ones of many clients.
    grpc::ResourceQuota room("sluiced");
    room.Resize(
        static_cast<std::size_t>(std::max(2 * options.max_message_bytes, kLeastConnectionBytes)));
    builder.SetResourceQuota(room);
    // A client over TCP whose machine is gone says nothing any more.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveMs);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxHeaderBytes);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsPerConnection);
    // Counts of calls per connection that nobody reads: the daemon does not serve them.
    builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
    SLUICE_TRY(check_addresses(options));
    if (!options.tls.certificate.empty()) tls_ = SLUICE_TRY(read_tls(options.tls));
    server_ = builder.BuildAndStart();
    if (server_ != nullptr) return ok_status();
    return make_error(Code::kUnavailable, "gRPC does not start; its log says why");
  }

  static Status check_addresses(const ServerOptions& options) {
    if (!options.tls.certificate.empty()) return ok_status();
    for (const wire::Address& address : options.addresses) {
      if (address.is_unix || wire::is_loopback(address.host)) continue;
      return invalid_argument(
          "address {}: other machines reach it, and there is no TLS certificate; give one, or "
          "listen on localhost",
          address.to_string());
    }
    return ok_status();
  }

  /// Closes a connection of which there are too many.
  bool admit(int fd, const service::Peer& peer, const std::string& who) {
    const Status admitted = connections_.admit(fd, who);
    if (admitted.is_ok()) return true;
    service::count_refused_connection();
    service_.log().add(service::LogLevel::kWarning, "connection.refused address={} reason={}",
                       service::in_quotes(peer.address), service::in_quotes(admitted.message()));
    close(fd);
    return false;
  }

  /// Hands a connection to gRPC, which closes it in the end.
  void serve(int fd, const service::Peer& peer) {
    peers_.set(fd, peer);
    service_.log().add(service::LogLevel::kDebug,
                       "connection.open fd={} process={} user={} address={}", fd, peer.process,
                       peer.user, service::in_quotes(peer.address));
    grpc::AddInsecureChannelFromFd(server_.get(), fd);
  }

  /// The port.
  Result<int> listen_tcp(const wire::Address& address) {
    if (guard_ == nullptr) {
      const auto hand_over = [this](int fd, const service::Peer& peer) { serve(fd, peer); };
      guard_ = SLUICE_TRY(Guard::create(hand_over, service_.log()));
    }
    const auto on_accept = [this](int fd, const service::Peer& peer, const std::string& host) {
      if (admit(fd, peer, host)) guard_->add(transport_of(fd), peer, host);
    };
    tcp_listeners_.push_back(
        SLUICE_TRY(TcpListener::create(address.host, address.port, on_accept, service_.log())));
    return tcp_listeners_.back()->port();
  }

  std::unique_ptr<Transport> transport_of(int fd) {
    TlsContext tls;
    {
      const std::lock_guard lock(tls_mutex_);
      tls = tls_;
    }
    return tls == nullptr ? make_plain_transport(fd) : make_tls_transport(fd, *tls);
  }

  Status listen_unix(const ServerOptions& all, const std::string& path) {
    UnixSocketOptions options = all.unix_socket;
    options.path = path;
    const auto inherited = all.inherited_sockets.find(path);
    if (inherited != all.inherited_sockets.end()) options.inherited_fd = inherited->second;
    const auto on_accept = [this](int fd, const service::Peer& peer) {
      if (admit(fd, peer, fmt::format("user {}", peer.user))) serve(fd, peer);
    };
    listeners_.push_back(SLUICE_TRY(UnixListener::create(options, on_accept, service_.log())));
    options.path = side_path(path);
    options.inherited_fd = -1;  // only the main one is handed over
    options.takes_descriptors = true;
    if (options.path.empty()) {
      service_.log().add(service::LogLevel::kWarning,
                         "socket.no_side path={} reason=\"its name is too long\"",
                         service::in_quotes(path));
      return ok_status();
    }
    sides_.push_back(SLUICE_TRY(SideSocket::create(service_, threads_, options)));
    return ok_status();
  }

  service::Service& service_;
  PeerTable peers_;
  service::CallThreads threads_;
  Handlers handlers_;
  std::vector<std::string> addresses_;
  std::mutex tls_mutex_;
  TlsContext tls_;  ///< null: no TLS
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<SideSocket>> sides_;
  ConnectionLimits connections_;
  std::unique_ptr<Guard> guard_;  ///< of TCP; null without
  std::vector<std::unique_ptr<TcpListener>> tcp_listeners_;
  std::vector<std::unique_ptr<UnixListener>> listeners_;  ///< last: they hand to all of the above
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(service::Service& service,
                                              const ServerOptions& options) {
  auto server = std::make_unique<GrpcServer>(service, options);
  SLUICE_TRY(server->start(options));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace sluice::rpc::server
