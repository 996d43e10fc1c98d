#include "rpc/server/side_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/process/start_thread.h"
#include "rpc/wire/side_messages.h"
#include "rpc/wire/times.h"

namespace sluice::rpc::server {

namespace {

/// Without a ring; rings are counted by their sessions.
constexpr std::ptrdiff_t kMaxWaiting = 256;
/// For a client to send its request.
constexpr std::int64_t kRequestTimeNs = 5'000'000'000;

void ring(int event_fd) {
  const std::uint64_t one = 1;
  const ssize_t written = write(event_fd, &one, sizeof(one));
  (void)written;  // full: it is awake already
}

}  // namespace

struct SideSocket::Connection {
  shm::Fd socket;
  terms::Peer peer;
  std::int64_t since_ns = 0;
  wire::SideRequest request;
  std::size_t num_bytes = 0;  ///< of the request, that have come
  shm::Fd fd;
  service::Caller caller;
  std::uint64_t ring = 0;  ///< whose end the connection's end is; 0: none
  bool is_over = false;
};

std::string side_path(const std::string& path) {
  std::string side = path + ".side";
  return side.size() < sizeof(sockaddr_un::sun_path) ? side : "";
}

SideSocket::SideSocket(service::Service& service, service::CallThreads& threads)
    : service_(service), threads_(threads) {}

Result<std::unique_ptr<SideSocket>> SideSocket::create(service::Service& service,
                                                       service::CallThreads& threads,
                                                       const UnixSocketOptions& options) {
  std::unique_ptr<SideSocket> side(new SideSocket(service, threads));
  side->wake_fd_ = shm::Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!side->wake_fd_.is_valid()) {
    return make_error(Code::kResourceExhausted, "socket {}: no descriptor left", options.path);
  }
  side->thread_ = SLUICE_TRY(start_thread([raw = side.get()] { raw->loop(); }));
  const auto on_accept = [raw = side.get()](int fd, const terms::Peer& peer) {
    raw->add(fd, peer);
  };
  side->listener_ = SLUICE_TRY(UnixListener::create(options, on_accept, service.log()));
  return side;
}

SideSocket::~SideSocket() {
  listener_ = nullptr;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  ring(wake_fd_.get());
  if (thread_.joinable()) thread_.join();
}

void SideSocket::add(int fd, const terms::Peer& peer) {
  auto connection = std::make_unique<Connection>();
  connection->socket = shm::Fd(fd);
  connection->peer = peer;
  connection->since_ns = system_clock().now_ns();
  {
    const std::lock_guard lock(mutex_);
    arrived_.push_back(std::move(connection));
  }
  ring(wake_fd_.get());
}

void SideSocket::loop() {
  std::vector<pollfd> waits;
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) break;
      std::ranges::move(arrived_, std::back_inserter(connections_));
      arrived_.clear();
    }
    drop_oldest();
    waits.assign(1, {wake_fd_.get(), POLLIN, 0});
    for (const auto& connection : connections_) {
      waits.push_back({connection->socket.get(), POLLIN, 0});
    }
    poll(waits.data(), waits.size(), wire::kStillMs);
    std::uint64_t count = 0;
    const ssize_t size = read(wake_fd_.get(), &count, sizeof(count));
    (void)size;  // nothing there: it was a connection, or time
    const std::int64_t now_ns = system_clock().now_ns();
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (waits[i + 1].revents != 0) receive(*connections_[i]);
      look_after(*connections_[i], now_ns);
    }
    std::erase_if(connections_, [](const auto& connection) { return connection->is_over; });
  }
}

/// Drops the oldest silent connections, so that silent clients cannot fill the table.
void SideSocket::drop_oldest() {
  const auto is_waiting = [](const auto& connection) { return connection->ring == 0; };
  std::ptrdiff_t surplus = std::ranges::count_if(connections_, is_waiting) - kMaxWaiting;
  std::erase_if(connections_,
                [&](const auto& connection) { return is_waiting(connection) && surplus-- > 0; });
}

/// Ends what has no more purpose.
void SideSocket::look_after(Connection& connection, std::int64_t now_ns) {
  if (connection.ring != 0) {
    if (connection.caller.session->find_region(connection.ring) == nullptr) {
      connection.is_over = true;
    }
  } else if (now_ns - connection.since_ns > kRequestTimeNs) {
    connection.is_over = true;
  }
  if (!connection.is_over || connection.ring == 0) return;
  // Elsewhere: it waits for what the ring's requests compute.
  threads_.run_always([&service = service_, caller = connection.caller, ring = connection.ring] {
    // The end of its session may have unregistered the region.
    (void)service.unregister_region(caller, ring);
  });
}

void SideSocket::receive(Connection& connection) {
  // A connection must not send bytes after its request.
  std::array<std::byte, sizeof(wire::SideRequest)> rest = {};
  const bool is_complete = connection.num_bytes == sizeof(wire::SideRequest);
  const std::span<std::byte> request = std::as_writable_bytes(std::span(&connection.request, 1));
  shm::Received received =
      shm::receive_with_fd(connection.socket.get(),
                           is_complete ? std::span(rest) : request.subspan(connection.num_bytes));
  if (received.is_closed || (is_complete && received.num_bytes > 0)) connection.is_over = true;
  if (connection.is_over || is_complete) return;
  connection.num_bytes += received.num_bytes;
  if (received.fd.is_valid() && !connection.fd.is_valid()) connection.fd = std::move(received.fd);
  if (connection.num_bytes == sizeof(wire::SideRequest)) answer(connection);
}

void SideSocket::answer(Connection& connection) {
  const Result<std::uint64_t> region = serve(connection);
  connection.fd = shm::Fd();  // mapped, or refused
  wire::SideAnswer answer;
  if (region.is_ok()) {
    answer.region = *region;
  } else {
    const Status& status = region.status();
    answer.status_code = static_cast<std::int32_t>(status.code());
    answer.runtime_code = static_cast<std::int32_t>(terms::runtime_code_of(status));
    const std::size_t size = std::min(status.message().size(), answer.message.size());
    answer.message_bytes = static_cast<std::uint16_t>(size);
    std::memcpy(answer.message.data(), status.message().data(), size);
  }
  const bool is_ring = connection.request.kind == static_cast<std::uint16_t>(wire::SideKind::kRing);
  if (region.is_ok() && is_ring) connection.ring = *region;
  // It fits an empty buffer; a client that filled it does not want an answer.
  const ssize_t sent =
      send(connection.socket.get(), &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
  connection.is_over = connection.ring == 0 || sent != sizeof(answer);
}

Result<std::uint64_t> SideSocket::serve(Connection& connection) {
  const wire::SideRequest& request = connection.request;
  if (request.magic != wire::kSideMagic || request.version != wire::kSideVersion) {
    return terms::runtime_error(RuntimeCode::kUnsupportedVersion,
                                "no request of version {} of the side socket's protocol",
                                wire::kSideVersion);
  }
  const std::string_view token(request.token.data(),
                               strnlen(request.token.data(), request.token.size()));
  connection.caller =
      SLUICE_TRY(service_.caller_of(terms::Role::kInference, token, connection.peer));
  if (!connection.fd.is_valid()) {
    return terms::runtime_error(RuntimeCode::kInvalid, "no memfd came with the request");
  }
  switch (static_cast<wire::SideKind>(request.kind)) {
    case wire::SideKind::kMemory:
      return service_.register_memory(connection.caller, connection.fd.get(), request.size_bytes);
    case wire::SideKind::kRing:
      return service_.register_ring(connection.caller, connection.fd.get(), request.size_bytes);
  }
  return terms::runtime_error(RuntimeCode::kInvalid, "{} is no kind of region", request.kind);
}

}  // namespace sluice::rpc::server
