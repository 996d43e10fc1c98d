#include "rpc/server/server.h"

#include <algorithm>

#include "rpc/server/calls/handlers.h"
#include "rpc/server/door/door.h"
#include "rpc/server/health/health_handlers.h"
#include "rpc/server/load_report/load_handlers.h"
#include "rpc/server/open_inference/inference_handlers.h"
#include "rpc/server/reflection/reflection_handlers.h"
#include "rpc/server/side_socket.h"
#include "rpc/wire/coded_message.h"
#include "service/clients/peer.h"

namespace sluice::rpc::server {
namespace {

// For calls that may wait, such as loads and unloads.
constexpr std::size_t kMaxCallThreads = 32;
constexpr std::size_t kMaxWaitingCalls = 1024;
constexpr std::string_view kRole = "listen";
/// Requests that arrive, of all clients together, have at least this room.
constexpr std::int64_t kLeastMemoryBytes = std::int64_t{256} << 20;

class GrpcServer final : public Server {
 public:
  GrpcServer(service::Service& service, repository::Repository& repository,
             const ServerOptions& options)
      : service_(service),
        repository_(repository),
        threads_(kMaxCallThreads, kMaxWaitingCalls, service.log()),
        handlers_(service, threads_, options.tokens, options.max_message_bytes, options.texts),
        health_handlers_(handlers_),
        load_handlers_(service),
        connections_(static_cast<std::size_t>(options.connections),
                     static_cast<std::size_t>(options.connections_per_peer)) {}
  ~GrpcServer() override { shutdown(0); }

  Status start(const ServerOptions& options) {
    const auto local = std::ranges::find_if(options.addresses, &wire::Address::is_unix);
    // Before the first connection: a client may ask for the side socket at once.
    if (local != options.addresses.end()) service_.set_side_socket(side_path(local->path));
    SLUICE_TRY(open_door(options));
    for (wire::Address address : options.addresses) {
      if (address.is_unix) {
        SLUICE_TRY(listen_unix(options, address.path));
      } else {
        address.port = SLUICE_TRY(door_->listen(address, options.inherited));
      }
      addresses_.push_back(address.to_string());
    }
    return ok_status();
  }

  std::vector<std::string> addresses() const override { return addresses_; }

  void set_tokens(std::vector<service::AccessToken> tokens) override {
    handlers_.set_tokens(std::move(tokens));
  }

  void set_tls(tls::Context context) override { door_->set_tls(std::move(context)); }

  void pass_on(std::vector<PassedFd>& to) const override {
    door_->pass_on(kRole, to);
    for (const auto& listener : listeners_) listener->pass_on(kRole, to);
    for (const auto& side : sides_) side->pass_on(kRole, to);
  }

  void leave() override {
    door_->close();
    for (const auto& listener : listeners_) listener->leave();
    for (const auto& side : sides_) side->leave();
    door_->say_goodbye();
  }

  std::size_t num_connections() override { return connections_.count(); }

  void shutdown(std::int64_t grace_ns) override {
    if (door_ != nullptr) door_->close();
    listeners_.clear();
    sides_.clear();
    if (door_ == nullptr) return;
    door_->shutdown(grace_ns);  // all calls are done
    threads_.close();
  }

 private:
  Status open_door(const ServerOptions& options) {
    handlers_.add_to(methods_);
    add_inference_calls(handlers_, repository_, methods_);
    health_handlers_.add_to(methods_);
    load_handlers_.add_to(methods_);
    add_reflection_calls(handlers_, methods_);
    wire::set_max_inflated_bytes(options.max_message_bytes);
    SLUICE_TRY(check_addresses(options));
    auto tls = SLUICE_TRY(tls::read_server(options.certificates, tls::Protocols::kHttp2));
    // Two messages, or room for small ones of many clients.
    const auto memory =
        std::make_shared<ByteBudget>(std::max(2 * options.max_message_bytes, kLeastMemoryBytes));
    door_ = std::make_unique<Door>(CallSettings{methods_, options.max_message_bytes, memory},
                                   connections_, service_.log(), std::move(tls),
                                   options.connection_age_ns);
    return door_->start();
  }

  static Status check_addresses(const ServerOptions& options) {
    if (!options.certificates.certificate.empty() || options.is_plain_allowed) return ok_status();
    for (const wire::Address& address : options.addresses) {
      if (address.is_unix || wire::is_loopback(address.host)) continue;
      return invalid_argument(
          "address {}: other machines reach it, and there is no TLS certificate; give one, or "
          "listen on localhost",
          address.to_string());
    }
    return ok_status();
  }

  Status listen_unix(const ServerOptions& all, const std::string& path) {
    UnixSocketOptions options = all.unix_socket;
    options.path = path;
    options.inherited = all.inherited;
    const auto on_accept = [this](int fd, const terms::Peer& peer) {
      const std::string user = fmt::format("user {}", peer.user);
      if (!admit(connections_, fd, peer, user, service_.log())) return;
      door_->serve(fd, peer, user, service::is_administrator(peer));
    };
    listeners_.push_back(SLUICE_TRY(UnixListener::create(options, on_accept, service_.log())));
    options.path = side_path(path);
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
  repository::Repository& repository_;
  service::CallThreads threads_;
  Handlers handlers_;
  HealthHandlers health_handlers_;
  LoadHandlers load_handlers_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<SideSocket>> sides_;
  ConnectionLimits connections_;
  Methods methods_;
  std::unique_ptr<Door> door_;                            ///< null before `start`
  std::vector<std::unique_ptr<UnixListener>> listeners_;  ///< last: they hand to all of the above
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(service::Service& service,
                                              repository::Repository& repository,
                                              const ServerOptions& options) {
  auto server = std::make_unique<GrpcServer>(service, repository, options);
  SLUICE_TRY(server->start(options));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace sluice::rpc::server
