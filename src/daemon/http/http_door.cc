#include "daemon/http/http_door.h"

#include <fmt/format.h>

#include <utility>

#include "rpc/server/door/door.h"

namespace sluice::daemon {

Result<std::unique_ptr<HttpDoor>> HttpDoor::start(rpc::wire::Address address,
                                                  const rpc::server::ServerOptions& serving,
                                                  const http::ServerOptions& options,
                                                  http::Handler handler, tls::Context tls,
                                                  service::Log& log) {
  auto server = SLUICE_TRY(http::Server::start(options, std::move(handler)));
  std::unique_ptr<HttpDoor> door(
      new HttpDoor(static_cast<std::size_t>(serving.connections_per_peer), std::move(server),
                   address.is_unix ? nullptr : std::move(tls)));
  const auto add = [&door = *door, &log](int fd, const terms::Peer& peer, const std::string& who) {
    if (!rpc::server::admit(door.limits_, fd, peer, who, log)) return;
    door.server_->add(fd, peer, door.tls_.get());
  };
  if (address.is_unix) {
    rpc::server::UnixSocketOptions unix_socket = serving.unix_socket;
    unix_socket.path = address.path;
    unix_socket.inherited = serving.inherited;
    const auto on_accept = [add](int fd, const terms::Peer& peer) {
      add(fd, peer, fmt::format("user {}", peer.user));
    };
    door->unix_ = SLUICE_TRY(rpc::server::UnixListener::create(unix_socket, on_accept, log));
  } else {
    door->tcp_ = SLUICE_TRY(
        rpc::server::TcpListener::create(address.host, address.port, add, log, serving.inherited));
    address.port = door->tcp_->port();
  }
  door->address_ = address.to_string();
  return door;
}

void HttpDoor::pass_on(std::string_view role, std::vector<PassedFd>& to) const {
  if (tcp_ != nullptr) tcp_->pass_on(role, to);
  if (unix_ != nullptr) unix_->pass_on(role, to);
}

void HttpDoor::leave() {
  tcp_ = nullptr;
  if (unix_ != nullptr) unix_->leave();
  server_->say_goodbye();
}

void HttpDoor::shutdown(std::int64_t grace_ns) {
  tcp_ = nullptr;
  unix_ = nullptr;
  server_->shutdown(grace_ns);
}

http::Handler metrics_handler(MetricsBody body) {
  return [body = std::move(body)](const http::Request& request, const http::Answer& answer) {
    const service::MetricsForm form = service::choose_form(request.accept);
    if (request.path != "/metrics") {
      answer({404, http::kText, "there is /metrics\n"});
    } else if (request.method != "GET" && request.method != "HEAD") {
      http::Reply reply{405, http::kText, "/metrics takes GET\n"};
      reply.allow = "GET, HEAD";
      answer(std::move(reply));
    } else if (auto all = body(request.peer, form); all.is_ok()) {
      answer({200, service::type_of(form), std::move(*all)});
    } else {
      answer({403, http::kText, all.status().message() + "\n"});
    }
    return http::Cancel();
  };
}

}  // namespace sluice::daemon
