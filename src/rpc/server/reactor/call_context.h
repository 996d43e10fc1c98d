// A call as its handler sees it.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <string_view>

#include "rpc/server/reactor/out_message.h"
#include "terms/server/server.h"

namespace sluice::rpc::server {

class Reactor;

/// Lives until the reaction `on_done`; for a call without a reactor, until `finish`. Handlers are
/// called, and reactions come, on the thread of the call's connection, one after the other: they
/// must not block. Everything here may be called from any thread.
class CallContext {
 public:
  CallContext() = default;
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;
  virtual ~CallContext() = default;

  /// Who called.
  virtual const terms::Peer& peer() const = 0;
  /// Differs between connections.
  virtual std::uint64_t connection() const = 0;
  /// The first that the client sent under this name, in lower case; empty: none.
  virtual std::string_view metadata(std::string_view name) const = 0;
  /// On system_clock(); kNoDeadline: none.
  virtual std::int64_t deadline_ns() const = 0;
  /// The client ended the call or is gone, or the deadline has passed.
  virtual bool is_cancelled() const = 0;

  /// Goes before the first answer. Requires: no message was written, and the call not finished.
  virtual void add_initial_metadata(std::string_view name, std::string_view value) = 0;
  /// Goes behind the answers; values of names that end with "-bin" are any bytes. Requires: the
  /// call was not finished.
  virtual void add_trailing_metadata(std::string_view name, std::string_view value) = 0;
  /// Ends the call, once. The response of a call that has one is sent if the status is OK.
  virtual void finish(const grpc::Status& status) = 0;
  /// As if the client had ended the call.
  virtual void cancel() = 0;

 private:
  friend class Reactor;

  /// Null: it has none any more.
  virtual void attach(Reactor* reactor) = 0;
  virtual void start_read(google::protobuf::Message& to) = 0;
  virtual void start_write(OutMessage message) = 0;
  virtual void start_timer(std::int64_t delay_ns) = 0;
};

}  // namespace sluice::rpc::server
