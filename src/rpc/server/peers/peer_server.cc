#include "rpc/server/peers/peer_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include "rpc/server/door/grpc_limits.h"
#include "rpc/server/door/tcp_door.h"
#include "rpc/server/peers/fetch_handler.h"
#include "rpc/wire/times.h"

namespace sluice::rpc::server {
namespace {

/// Requests have an index and a key; answers are chunks.
constexpr std::int64_t kMaxMessageBytes = std::int64_t{4} << 20;
/// Peers take large tensors, so larger pieces cost fewer turns; but a fetch is slower with 128 KiB,
/// and with 256 KiB by a quarter.
constexpr std::size_t kPeerRelayBytes = 64 << 10;
constexpr std::int64_t kMemoryBytes = std::int64_t{64} << 20;

class GrpcPeerServer final : public PeerServer {
 public:
  GrpcPeerServer(service::Service& service, const PeerServerOptions& options, tls::Context tls)
      : service_(service),
        handler_(service, peers_, options.tokens),
        connections_(static_cast<std::size_t>(options.connections),
                     static_cast<std::size_t>(options.connections_per_peer)),
        door_([this](int fd, const terms::Peer& peer) { serve(fd, peer); }, connections_,
              service.log(), std::move(tls), kPeerRelayBytes) {}
  ~GrpcPeerServer() override { shutdown(); }

  Status start(wire::Address address, InheritedFds* inherited) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&handler_);
    set_limits(builder, kMaxMessageBytes, kMemoryBytes);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      return make_error(Code::kUnavailable, "gRPC does not start; its log says why");
    }
    address.port = SLUICE_TRY(door_.listen(address, inherited));
    address_ = address.to_string();
    return ok_status();
  }

  std::string address() const override { return address_; }
  void set_tokens(std::vector<service::AccessToken> tokens) override {
    handler_.set_tokens(std::move(tokens));
  }
  void set_tls(tls::Context context) override { door_.set_tls(std::move(context)); }

  void pass_on(std::vector<PassedFd>& to) const override { door_.pass_on("exchange_listen", to); }

  void leave() override {
    door_.close();
    door_.say_goodbye();
  }

  void shutdown() override {
    door_.close();
    if (server_ == nullptr) return;
    server_->Shutdown(wire::after(0));
    server_->Wait();
    door_.stop();
    server_ = nullptr;  // all calls are done
  }

 private:
  void serve(int fd, const terms::Peer& peer) {
    peers_.set(fd, peer);
    service_.log().add(service::LogLevel::kDebug, "peer.open fd={} address={} certificate={}", fd,
                       service::in_quotes(peer.address), service::in_quotes(peer.certificate));
    grpc::AddInsecureChannelFromFd(server_.get(), fd);
  }

  service::Service& service_;
  PeerTable peers_;
  FetchHandler handler_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
  ConnectionLimits connections_;
  TcpDoor door_;  ///< last: it hands to all of the above
};

}  // namespace

Result<std::unique_ptr<PeerServer>> PeerServer::start(service::Service& service,
                                                      const PeerServerOptions& options) {
  auto tls = SLUICE_TRY(tls::read_server(options.certificates, tls::Protocols::kHttp2));
  auto server = std::make_unique<GrpcPeerServer>(service, options, std::move(tls));
  SLUICE_TRY(server->start(options.address, options.inherited));
  return std::unique_ptr<PeerServer>(std::move(server));
}

}  // namespace sluice::rpc::server
