// The server's end of HTTP/2 on one connection, by nghttp2, as HTTP's requests and gRPC's calls
// have it in common.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sluice::http2 {

/// Names in lower case.
using Fields = std::vector<std::pair<std::string, std::string>>;

/// What a field counts besides its bytes (RFC 9113, section 6.5.2).
inline constexpr std::size_t kFieldBytes = 32;

/// nghttp2 copies name and value unless `flags` say otherwise.
nghttp2_nv field(std::string_view name, std::string_view value,
                 std::uint8_t flags = NGHTTP2_NV_FLAG_NONE);
/// `fields` live as long as the list, unchanged.
void add_fields(const Fields& fields, std::vector<nghttp2_nv>& list);

struct SessionLimits {
  std::uint32_t max_streams = 0;
  std::uint32_t max_head_bytes = 0;  ///< of a decoded head; the client is told
  std::size_t most_unsent = 0;       ///< bytes of one `send`, about
  std::size_t most_queued = 0;       ///< frames that wait to be sent, beyond those of answers
  /// nghttp2 lets the client replace all that came; otherwise the streams' owner says what.
  bool replaces_all = true;
};

/// Has no socket, no thread, no clock and no streams: those are of the class over it, which hears
/// of them in `take` and `send`. FrameRules has checked what comes, the rate of resets too. Used by
/// one thread.
class ServerSession {
 public:
  using StreamId = std::int32_t;

  ServerSession(const ServerSession&) = delete;
  ServerSession& operator=(const ServerSession&) = delete;

  /// Asks the client to send its next requests over a new connection; once it has read that,
  /// `finish` follows.
  void say_goodbye();
  /// Takes no new request. It is over with the last answer.
  void finish();
  /// Asks the client whether it is there.
  void ping();
  /// The session has ended: it neither reads nor sends.
  bool is_over() const;
  /// Too much waits to be sent: nothing should be read until that has gone.
  bool is_full() const;

 protected:
  explicit ServerSession(const SessionLimits& limits) : limits_(limits) {}
  virtual ~ServerSession() = default;

  /// Before anything else. Fails: kResourceExhausted without memory.
  Status open();
  /// The next bytes of the client, the preface too. Fails: kInvalidArgument for what is not HTTP/2.
  Status take(std::string_view bytes);
  /// The next bytes for the client; empty: none for now. They live until the next call.
  std::string_view send();

  nghttp2_session* nghttp2() const { return session_.get(); }
  /// What `send` has up to now.
  std::string& unsent() { return unsent_; }
  /// An answer's body, as `read` has it.
  static nghttp2_data_provider body();

 private:
  struct Callbacks;  // nghttp2's way back

  virtual void begin(StreamId id) = 0;
  /// False: the connection must end.
  virtual bool take_field(StreamId id, bool is_trailer, std::string_view name,
                          std::string_view value) = 0;
  /// `is_all`: no body comes.
  virtual void end_head(StreamId id, bool is_all) = 0;
  virtual void take_data(StreamId id, std::string_view bytes) = 0;
  virtual void end_request(StreamId id) = 0;
  /// As nghttp2_data_source_read_callback.
  virtual ssize_t read(StreamId id, std::span<std::uint8_t> to, std::uint32_t& flags) = 0;
  /// As nghttp2_send_data_callback, for a `read` that copies nothing.
  virtual int send_data(StreamId id, std::string_view head, std::size_t size);
  /// The end of the answer was sent. It ends the stream, although the client may still send the
  /// body of what was refused (RFC 9113, section 8.1).
  virtual void note_sent(StreamId id) = 0;
  virtual void close(StreamId id) = 0;
  /// It may have something to send.
  virtual void touch() {}

  const SessionLimits limits_;
  std::unique_ptr<nghttp2_session, decltype(&nghttp2_session_del)> session_{nullptr,
                                                                            nghttp2_session_del};
  std::string unsent_;
  bool is_broken_ = false;     ///< nghttp2 cannot go on
  bool is_leaving_ = false;    ///< goodbye is said
  bool is_finishing_ = false;  ///< no new request is taken
};

}  // namespace sluice::http2
