// HTTP/2 on one connection.
#pragma once

#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <string_view>

#include "http/connections/connection.h"
#include "http/connections/http2_session.h"

namespace sluice::http {

/// Moves bytes between the socket and the session. All runs on the connection's strand.
///
/// A read is pending always, but while too much waits to be sent; at most one write is.
class Http2 final : public Protocol {
 public:
  /// The connection owns this.
  explicit Http2(Connection& connection);

  Connection& connection() { return connection_; }
  void begin() override;
  void say_goodbye() override;
  void finish() override;
  void end() override;

 private:
  /// Holds the connection.
  std::shared_ptr<Http2> self() { return {connection_.shared_from_this(), this}; }
  Http2Session::Hooks hooks();
  Cancel compute(Http2Session::StreamId id, Request request);
  void take();
  void go_on();
  void read();
  void write();
  void close_in_order();
  void look_later();
  void look();

  Connection& connection_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<Http2Session> session_;  ///< null without memory
  std::string_view unsent_;                ///< of the session
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_leaving_ = false;  ///< said goodbye before it began
  bool is_over_ = false;     ///< the last read ends; then the connection
};

}  // namespace sluice::http
