#include "rpc/server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "rpc/handlers.h"
#include "rpc/side_socket.h"

namespace sluice::rpc {
namespace {

constexpr std::size_t kMostWorkers = 32;
constexpr std::size_t kMostWaitingCalls = 1024;
constexpr int kKeepAliveMs = 10'000;

class GrpcServer final : public Server {
 public:
  GrpcServer(service::Service& service, const ServerOptions& options)
      : service_(service),
        workers_(kMostWorkers, kMostWaitingCalls),
        handlers_(service, peers_, workers_, options.tokens) {}
  ~GrpcServer() override { shutdown(0); }

  Status start(const ServerOptions& options) {
    const auto local = std::ranges::find_if(options.addresses, &Address::is_unix);
    if (local != options.addresses.end()) service_.set_side_socket(side_path(local->path));
    SLUICE_TRY(start_grpc(options));
    for (std::size_t i = 0; i < options.addresses.size(); ++i) {
      Address address = options.addresses[i];
      if (address.is_unix) {
        SLUICE_TRY(listen_unix(options, address.path));
      } else {
        address.port = ports_[i];
      }
      addresses_.push_back(address.to_string());
    }
    return ok_status();
  }

  std::vector<std::string> addresses() const override { return addresses_; }

  void set_tokens(std::vector<std::string> tokens) override {
    handlers_.set_tokens(std::move(tokens));
  }

  void set_certificates(TlsTexts texts) override {
    if (certificates_ != nullptr) certificates_->set(std::move(texts));
  }

  void shutdown(std::int64_t grace_ns) override {
    listeners_.clear();
    sides_.clear();
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::nanoseconds(grace_ns));
    server_->Wait();
    server_ = nullptr;  // all calls are done
    workers_.close();
  }

 private:
  Status start_grpc(const ServerOptions& options) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&handlers_);
    const auto limit = static_cast<int>(
        std::min<std::int64_t>(options.message_limit_bytes, std::numeric_limits<int>::max()));
    builder.SetMaxReceiveMessageSize(limit);
    builder.SetMaxSendMessageSize(limit);
    // A client over TCP whose machine is gone says nothing any more.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveMs);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    auto credentials = grpc::InsecureServerCredentials();
    if (!options.tls.certificate.empty()) {
      certificates_ = std::make_unique<TlsCertificates>(SLUICE_TRY(read_tls(options.tls)));
      credentials = certificates_->credentials();
    }
    ports_.resize(options.addresses.size());
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const Address& address = options.addresses[i];
      if (address.is_unix) continue;
      if (options.tls.certificate.empty() && !is_loopback(address.host)) {
        return invalid_argument(
            "address {}: other machines reach it, and there is no TLS certificate; give one, or "
            "listen on localhost",
            address.to_string());
      }
      builder.AddListeningPort(address.to_string(), credentials, &ports_[i]);
    }
    server_ = builder.BuildAndStart();
    if (server_ != nullptr) return ok_status();
    return make_error(Code::kUnavailable, "cannot listen: a port is taken or may not be used");
  }

  Status listen_unix(const ServerOptions& all, const std::string& path) {
    UnixSocketOptions options = all.unix_socket;
    options.path = path;
    const auto inherited = all.inherited_sockets.find(path);
    if (inherited != all.inherited_sockets.end()) options.inherited_fd = inherited->second;
    const auto on_accept = [this](int fd, const service::Peer& peer) {
      peers_.set(fd, peer);
      service_.log().add(service::LogLevel::kDebug, "connection.open fd={} process={} user={}", fd,
                         peer.process, peer.user);
      grpc::AddInsecureChannelFromFd(server_.get(), fd);
    };
    listeners_.push_back(SLUICE_TRY(UnixListener::create(options, on_accept, service_.log())));
    options.path = side_path(path);
    options.inherited_fd = -1;  // only the main one is handed over
    if (options.path.empty()) {
      service_.log().add(service::LogLevel::kWarning,
                         "socket.no_side path={} reason=\"its name is too long\"",
                         service::in_quotes(path));
      return ok_status();
    }
    sides_.push_back(SLUICE_TRY(SideSocket::create(service_, workers_, options)));
    return ok_status();
  }

  service::Service& service_;
  PeerTable peers_;
  service::Workers workers_;
  Handlers handlers_;
  std::vector<int> ports_;
  std::vector<std::string> addresses_;
  std::unique_ptr<TlsCertificates> certificates_;  ///< null: no TLS
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<SideSocket>> sides_;
  std::vector<std::unique_ptr<UnixListener>> listeners_;  ///< last: they hand to all of the above
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(service::Service& service,
                                              const ServerOptions& options) {
  auto server = std::make_unique<GrpcServer>(service, options);
  SLUICE_TRY(server->start(options));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace sluice::rpc
