// The server's end of HTTP/2 on one connection, by nghttp2: bytes to requests, replies to bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>

#include "http/connections/http2_stream.h"
#include "http/connections/server.h"
#include "http2/frame_rules.h"
#include "http2/server_session.h"

namespace sluice::http {

/// Has no socket, no thread and no clock. Used by one thread.
///
/// What one connection holds is bounded: kMaxStreams requests, among them those that the client
/// has reset and that are computed still; bodies of a quarter of all bodies, or two of the largest;
/// heads of 64 KiB. FrameRules ends connections that send what costs work and does nothing.
class Http2Session final : public http2::ServerSession {
 public:
  static constexpr std::uint32_t kMaxStreams = 100;

  struct Hooks {
    /// Has a request computed; `answer` brings its reply, once, and not before `take` has returned.
    std::function<Cancel(StreamId, Request)> compute;
    /// The stream of a reply has bytes, or has ended: `resume` is due, and not before `send` has
    /// returned. Called from any thread.
    std::function<void(StreamId)> wake;
  };

  /// Fails: kResourceExhausted without memory.
  static Result<std::unique_ptr<Http2Session>> create(const ServerOptions& options,
                                                      const std::shared_ptr<ByteBudget>& bodies,
                                                      terms::Peer peer, Hooks hooks,
                                                      std::int64_t now_ns);
  /// The next bytes of the client, the preface too. After an error only `send` is called.
  /// Fails: as http2::FrameRules::take; kInvalidArgument for other bytes that are not HTTP/2.
  Status take(std::string_view bytes, std::int64_t now_ns);
  /// The next bytes for the client; empty: none for now. They live until the next call.
  std::string_view send(std::int64_t now_ns);
  /// The reply to what was given to `compute`.
  void answer(StreamId id, Reply reply, std::int64_t now_ns);
  /// As Hooks::wake says.
  void resume(StreamId id, std::int64_t now_ns);

  /// Cancels all requests.
  void cancel();
  /// Ends requests and replies of a client that is too slow, and the connection of one that sends
  /// none. For a look now and then. Fails: as http2::FrameRules::check_time.
  Status check_time(std::int64_t now_ns);

  /// Since when it has had no request; 0: it has one.
  std::int64_t idle_since_ns() const { return streams_.empty() ? idle_since_ns_ : 0; }

 private:
  Http2Session(const ServerOptions& options, const std::shared_ptr<ByteBudget>& bodies,
               terms::Peer peer, Hooks hooks, std::int64_t now_ns);
  Status break_off(std::uint32_t code, Status why);
  Http2Stream* find(StreamId id);
  void begin(StreamId id) override;
  bool take_field(StreamId id, bool is_trailer, std::string_view name,
                  std::string_view value) override;
  void end_head(StreamId id, bool is_all) override;
  void take_data(StreamId id, std::string_view bytes) override;
  void end_request(StreamId id) override;
  ssize_t read(StreamId id, std::span<std::uint8_t> to, std::uint32_t& flags) override;
  void note_sent(StreamId id) override;
  void close(StreamId id) override;
  void refuse(StreamId id, Http2Stream& stream, const Refusal& refusal);
  void begin_reply(StreamId id, Http2Stream& stream, Reply reply);
  void reset(StreamId id, std::uint32_t code);

  const ServerOptions options_;
  const std::shared_ptr<ByteBudget> bodies_;  ///< of this connection
  const terms::Peer peer_;
  const Hooks hooks_;
  http2::FrameRules rules_;
  std::map<StreamId, Http2Stream> streams_;
  std::size_t num_lost_ = 0;  ///< requests whose stream has closed before their answer
  std::int64_t now_ns_;
  std::int64_t idle_since_ns_;
};

}  // namespace sluice::http
