// The server's end of HTTP/2 on one connection of gRPC, by nghttp2: bytes to calls and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "rpc/server/session/call.h"

struct nghttp2_session;

namespace sluice::rpc::server {

/// Has no socket, no thread and no clock. Used by the loop's thread.
///
/// What one connection holds is bounded: kMaxCalls, among them those that the client has reset and
/// that are computed still; messages within the server's budget; heads of 64 KiB.
class Session {
 public:
  using StreamId = Call::StreamId;
  static constexpr std::uint32_t kMaxCalls = 1024;

  /// `settings` and `queue` outlive the session and its calls.
  /// Fails: kResourceExhausted without memory.
  static Result<std::unique_ptr<Session>> create(const CallSettings& settings, CallQueue& queue,
                                                 std::shared_ptr<const terms::Peer> peer,
                                                 std::uint64_t connection);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Ends its calls.
  ~Session();

  /// The next bytes of the client, the preface too. Fails: kInvalidArgument for what is not HTTP/2.
  Status take(std::string_view bytes);
  /// The next bytes for the client; empty: none for now. They live until the next call.
  std::string_view send();

  /// Asks the client to send its next calls over a new connection; once it has read that, `finish`
  /// follows.
  void say_goodbye();
  /// Takes no new call. It is over with the last.
  void finish();
  /// Asks the client whether it is there.
  void ping();

  /// It may have something to send since the last `send`.
  bool is_touched() const { return is_touched_; }
  bool has_calls() const { return !streams_.empty(); }
  /// The session has ended: it neither reads nor sends.
  bool is_over() const;
  /// Too much waits to be sent: nothing should be read until that has gone.
  bool is_full() const;

  // For calls.

  std::uint64_t connection() const { return connection_; }
  const std::shared_ptr<const terms::Peer>& peer() const { return peer_; }
  /// The client may send as many bytes more.
  void let_replace(StreamId id, std::size_t num_bytes);
  /// The call has a message to send.
  void send_messages(const Call& call);
  /// The call has a status to send, behind its messages.
  void send_status(const Call& call);
  /// Answers a request that is no call of gRPC with this status of HTTP alone.
  void refuse_http(Call& call, std::string_view status);
  void reset(StreamId id);

 private:
  struct Callbacks;  // nghttp2's way back
  struct Free {
    void operator()(nghttp2_session* session) const;
  };
  struct Stream {
    std::shared_ptr<Call> call;
    bool has_head = false;     ///< the answer's was given to nghttp2
    bool is_deferred = false;  ///< the answer waits for its call
  };

  Session(const CallSettings& settings, CallQueue& queue, std::shared_ptr<const terms::Peer> peer,
          std::uint64_t connection);
  bool open();
  Stream* find(StreamId id);
  void begin(StreamId id);
  void close(StreamId id);
  void send_head(Stream& stream);
  void submit_trailer(const Call& call);
  void touch();

  const CallSettings& settings_;
  CallQueue& queue_;
  const std::shared_ptr<const terms::Peer> peer_;
  const std::uint64_t connection_;
  std::unique_ptr<nghttp2_session, Free> session_;
  std::unordered_map<StreamId, Stream> streams_;
  /// Calls whose stream has closed before they were done.
  std::shared_ptr<std::size_t> num_lost_ = std::make_shared<std::size_t>(0);
  std::string unsent_;
  bool is_broken_ = false;  ///< nghttp2 cannot go on
  bool is_leaving_ = false;
  bool is_finishing_ = false;
  bool is_touched_ = false;
};

}  // namespace sluice::rpc::server
