// What a call does when something happens to it.
#pragma once

#include <utility>

#include "rpc/server/reactor/call_context.h"

namespace sluice::rpc::server {

/// Made by a handler, for its call. One read, one write and one timer may be under way at a time.
/// Reactions come on the thread of the call's connection, one after the other, and never from
/// within `start_read`, `start_write` or `finish`, which any thread may call.
class Reactor {
 public:
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  /// False: the client has sent all, or the call is over.
  virtual void on_read_done(bool /*is_ok*/) {}
  /// The message is on its way. False: the call is over.
  virtual void on_write_done(bool /*is_ok*/) {}
  /// Before `finish` took effect, at most once.
  virtual void on_cancel() {}
  /// The timer is over. A cancelled call gets it, too; a finished call does not.
  virtual void on_time() {}
  /// The last, after `finish`: deletes the reactor.
  virtual void on_done() = 0;

 protected:
  explicit Reactor(CallContext& context) : context_(context) { context.attach(this); }
  virtual ~Reactor() { context_.attach(nullptr); }

  CallContext& context() const { return context_; }
  /// As CallContext::finish.
  void finish(const grpc::Status& status) { context_.finish(status); }
  /// `to` is filled until `on_read_done`.
  void start_read(google::protobuf::Message& to) { context_.start_read(to); }
  void start_write(OutMessage message) { context_.start_write(std::move(message)); }
  void start_write(const google::protobuf::Message& message) {
    context_.start_write(OutMessage(message));
  }
  /// `on_time` comes after so long. A later start replaces an earlier one.
  void start_timer(std::int64_t delay_ns) { context_.start_timer(delay_ns); }

 private:
  CallContext& context_;
};

}  // namespace sluice::rpc::server
