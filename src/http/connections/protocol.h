// What a connection speaks once its first bytes have come: HTTP/1.1 or HTTP/2.
#pragma once

namespace sluice::http {

/// Reads requests and writes replies. Belongs to its connection; all calls are on the connection's
/// strand.
class Protocol {
 public:
  Protocol() = default;
  Protocol(const Protocol&) = delete;
  Protocol& operator=(const Protocol&) = delete;
  virtual ~Protocol() = default;

  /// Once. The first bytes lie in the connection's buffer.
  virtual void begin() = 0;
  /// Ends the connection once what the client is just sending has its reply.
  virtual void say_goodbye() = 0;
  /// Ends the connection now if it has no request, and otherwise after the replies.
  virtual void finish() = 0;
  /// The connection is about to close: cancels its requests. May be called again.
  virtual void end() = 0;
};

}  // namespace sluice::http
