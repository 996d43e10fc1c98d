// The server's end of HTTP/2 on one connection of gRPC, by nghttp2: bytes to calls and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "http2/server_session.h"
#include "rpc/server/session/call.h"

namespace sluice::rpc::server {

/// Has no socket, no thread and no clock. Used by the loop's thread.
///
/// What one connection holds is bounded: kMaxCalls, among them those that the client has reset and
/// that are computed still; messages within the server's budget; heads of 64 KiB.
class Session final : public http2::ServerSession {
 public:
  static constexpr std::uint32_t kMaxCalls = 1024;

  /// `settings` and `queue` outlive the session and its calls.
  /// Fails: kResourceExhausted without memory.
  static Result<std::unique_ptr<Session>> create(const CallSettings& settings, CallQueue& queue,
                                                 std::shared_ptr<const terms::Peer> peer,
                                                 std::uint64_t connection);
  /// Ends its calls.
  ~Session() override;

  using ServerSession::take;
  /// The next bytes for the client; empty: none for now. They live until the next call.
  std::string_view send();

  /// It may have something to send since the last `send`.
  bool is_touched() const { return is_touched_; }
  bool has_calls() const { return !streams_.empty(); }

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
  struct Stream {
    std::shared_ptr<Call> call;
    bool has_head = false;     ///< the answer's was given to nghttp2
    bool is_deferred = false;  ///< the answer waits for its call
  };

  Session(const CallSettings& settings, CallQueue& queue, std::shared_ptr<const terms::Peer> peer,
          std::uint64_t connection);
  Stream* find(StreamId id);
  /// The call of the stream; null: there is none.
  std::shared_ptr<Call> call_of(StreamId id);
  void begin(StreamId id) override;
  bool take_field(StreamId id, bool is_trailer, std::string_view name,
                  std::string_view value) override;
  void end_head(StreamId id, bool is_all) override;
  void take_data(StreamId id, std::string_view bytes) override;
  void end_request(StreamId id) override;
  ssize_t read(StreamId id, std::span<std::uint8_t> to, std::uint32_t& flags) override;
  int send_data(StreamId id, std::string_view head, std::size_t size) override;
  void note_sent(StreamId id) override;
  void close(StreamId id) override;
  void touch() override;
  void send_head(Stream& stream);
  void submit_trailer(const Call& call);

  const CallSettings& settings_;
  CallQueue& queue_;
  const std::shared_ptr<const terms::Peer> peer_;
  const std::uint64_t connection_;
  std::unordered_map<StreamId, Stream> streams_;
  /// Calls whose stream has closed before they were done.
  std::shared_ptr<std::size_t> num_lost_ = std::make_shared<std::size_t>(0);
  bool is_touched_ = false;
};

}  // namespace sluice::rpc::server
