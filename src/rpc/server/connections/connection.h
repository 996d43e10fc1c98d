// A client's connection: its bytes are checked before HTTP/2 reads them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "http2/frame_rules.h"
#include "rpc/server/connections/transport.h"
#include "rpc/server/session/session.h"
#include "terms/server/server.h"

namespace sluice::rpc::server {

/// Bytes that one read takes.
inline constexpr std::size_t kReadBytes = 64 << 10;

/// Moves bytes between the socket and the session, and never waits. Until the client has sent the
/// HTTP/2 greeting it costs one descriptor and less than 5 KB. Used by the loop's thread.
///
///     greeting --> serving --> over
class Connection {
 public:
  /// `settings` and `queue` as Session::create. `max_age_ns`: the client is asked to connect anew
  /// after this time; 0: never.
  Connection(std::unique_ptr<Transport> client, terms::Peer peer, const http2::FrameLimits& limits,
             const CallSettings& settings, CallQueue& queue, std::int64_t max_age_ns,
             std::int64_t now_ns);

  enum class State {
    kWaits,   ///< for its descriptor
    kGoesOn,  ///< there may be more to move now
    kOver,
  };
  /// Moves what is there, up to a few reads' worth: others have their turn. `scratch` has at least
  /// kReadBytes. Fails: as http2::FrameRules::take and Session::take; then it is over, too.
  Result<State> pump(std::uint64_t id, std::span<std::byte> scratch, std::int64_t now_ns);
  /// There is something to read. `is_ending`: and the client sends no more.
  void note_readable(bool is_ending) {
    can_read_ = true;
    is_ending_ = is_ending_ || is_ending;
  }
  /// The client has greeted.
  bool is_open() const { return session_ != nullptr; }
  bool has_calls() const { return session_ != nullptr && session_->has_calls(); }
  /// Bytes wait that the client does not take now.
  bool waits_for_room() const { return !unsent_.empty(); }
  bool wants_to_send() const { return session_ != nullptr && session_->is_touched(); }

  /// As Session's, or at once where there is no session yet.
  void say_goodbye();
  void finish();
  /// Fails: as http2::FrameRules::check_time.
  Status check_time(std::int64_t now_ns);
  /// The client does not answer any more.
  bool is_gone() const { return is_gone_; }

  const terms::Peer& peer() const { return *peer_; }
  int fd() const { return client_->fd(); }

 private:
  struct Step {
    bool has_moved = false;
    bool is_over = false;
  };
  Result<Step> move_in(std::uint64_t id, std::span<std::byte> scratch, std::int64_t now_ns);
  Status greet(std::uint64_t id, std::string_view bytes);
  Step move_out();

  const std::unique_ptr<Transport> client_;
  const std::shared_ptr<terms::Peer> peer_;
  http2::FrameRules rules_;
  const CallSettings& settings_;
  CallQueue& queue_;
  const std::int64_t max_age_ns_;
  const std::int64_t opened_ns_;
  std::int64_t read_ns_;      ///< when bytes came last
  std::int64_t ping_ns_ = 0;  ///< since when the client is asked whether it is there; 0: it is not
  std::string greeting_;
  std::unique_ptr<Session> session_;  ///< null before the greeting
  std::string_view unsent_;           ///< of the session
  bool can_read_ = true;
  bool is_ending_ = false;
  bool is_leaving_ = false;
  bool is_gone_ = false;
};

}  // namespace sluice::rpc::server
