// A client's connection, and the one to gRPC that its checked bytes go on.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "http2/frame_rules.h"
#include "rpc/server/guard/goodbye.h"
#include "rpc/server/guard/transport.h"
#include "shm/fd_socket.h"
#include "terms/server/server.h"

namespace sluice::rpc::server {

/// Bytes that one read takes, and the most that wait for one end of a relay: those of `scratch`,
/// usually so many.
inline constexpr std::size_t kRelayBytes = 16 << 10;

/// Moves bytes both ways and never waits. It holds bytes only while an end does not take them, at
/// most a scratch each way; until they are gone it reads no more. gRPC gets a connection of its
/// own once the client has sent the HTTP/2 greeting. Used by one thread.
///
///     greeting --> (waits for its turn) --> relaying --the client is gone--> leaving --gRPC
///     closed-->
class Relay {
 public:
  /// Makes the connection to gRPC and returns the relay's end of it; an invalid one: not yet.
  using OpenInner = std::function<Result<shm::Fd>(const terms::Peer& peer)>;

  Relay(std::unique_ptr<Transport> client, terms::Peer peer, const http2::FrameLimits& limits,
        std::int64_t now_ns)
      : client_(std::move(client)), peer_(std::move(peer)), rules_(limits, now_ns) {}

  enum class State {
    kWaits,   ///< for its descriptors
    kGoesOn,  ///< there may be more to move now
    kTurn,    ///< waits until `open_inner` gives a connection
    kOver,    ///< of the client; or, once that has left, of gRPC
  };
  /// Moves what is there, up to a few reads' worth: others have their turn. `scratch` has at least
  /// kRelayBytes. Fails: as http2::FrameRules::take and `open_inner`; then it is over, too.
  Result<State> pump(std::span<std::byte> scratch, const OpenInner& open_inner,
                     std::int64_t now_ns);

  /// Closes the client's connection and tells gRPC. Goes on until gRPC has closed its own.
  void leave();
  /// As Goodbye::ask; a pump sends it.
  void say_goodbye() { goodbye_.ask(); }
  /// gRPC has yet to begin with it or to end it.
  bool is_work_for_grpc() const {
    return inner_ != nullptr && (!has_answered_ || client_ == nullptr);
  }

  /// It has read bytes that gRPC's end does not take now.
  bool has_bytes_for_grpc() const { return inner_ != nullptr && !to_inner_.empty(); }

  /// As http2::FrameRules::check_time.
  Status check_time(std::int64_t now_ns) const {
    return client_ == nullptr ? ok_status() : rules_.check_time(now_ns);
  }

  const terms::Peer& peer() const { return peer_; }
  int client_fd() const { return client_ == nullptr ? -1 : client_->fd(); }
  int inner_fd() const { return inner_ == nullptr ? -1 : inner_->fd(); }

 private:
  struct Step {
    bool has_moved = false;
    bool is_over = false;
  };
  Result<Step> move_in(std::span<std::byte> scratch, const OpenInner& open_inner,
                       std::int64_t now_ns);
  Result<Step> greet(std::span<std::byte> scratch, const OpenInner& open_inner,
                     std::int64_t now_ns);
  Step move_out(std::span<std::byte> scratch);
  static Step flush(std::vector<std::byte>& rest, Transport& to);
  static Step pass_on(std::span<const std::byte> bytes, Transport& to,
                      std::vector<std::byte>& rest);

  std::unique_ptr<Transport> client_;  ///< null once it has left
  terms::Peer peer_;
  http2::FrameRules rules_;
  std::unique_ptr<Transport> inner_;  ///< to gRPC; null before the greeting
  bool has_answered_ = false;         ///< gRPC
  Goodbye goodbye_;
  std::vector<std::byte> to_inner_;
  std::vector<std::byte> to_client_;
};

}  // namespace sluice::rpc::server
