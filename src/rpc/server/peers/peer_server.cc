#include "rpc/server/peers/peer_server.h"

#include "rpc/server/door/door.h"
#include "rpc/server/peers/fetch_handler.h"

namespace sluice::rpc::server {
namespace {

/// Requests have an index and a key; answers are chunks.
constexpr std::int64_t kMaxMessageBytes = std::int64_t{4} << 20;
constexpr std::int64_t kMemoryBytes = std::int64_t{64} << 20;

class DoorPeerServer final : public PeerServer {
 public:
  DoorPeerServer(service::Service& service, const PeerServerOptions& options, tls::Context tls)
      : handler_(service, options.tokens),
        connections_(static_cast<std::size_t>(options.connections),
                     static_cast<std::size_t>(options.connections_per_peer)),
        door_(CallSettings{methods_, kMaxMessageBytes, std::make_shared<ByteBudget>(kMemoryBytes)},
              connections_, service.log(), std::move(tls)) {
    handler_.add_to(methods_);
  }
  ~DoorPeerServer() override { shutdown(); }

  Status start(wire::Address address, InheritedFds* inherited) {
    SLUICE_TRY(door_.start());
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

  void shutdown() override { door_.shutdown(0); }

 private:
  FetchHandler handler_;
  std::string address_;
  ConnectionLimits connections_;
  Methods methods_;
  Door door_;  ///< last: it hands to all of the above
};

}  // namespace

Result<std::unique_ptr<PeerServer>> PeerServer::start(service::Service& service,
                                                      const PeerServerOptions& options) {
  auto tls = SLUICE_TRY(tls::read_server(options.certificates, tls::Protocols::kHttp2));
  auto server = std::make_unique<DoorPeerServer>(service, options, std::move(tls));
  SLUICE_TRY(server->start(options.address, options.inherited));
  return std::unique_ptr<PeerServer>(std::move(server));
}

}  // namespace sluice::rpc::server
