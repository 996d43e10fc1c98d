// The only connection of a client to its daemon: the lease of the client's session is on it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>

#include "base/status.h"
#include "proto/sluice/v1/runtime.grpc.pb.h"
#include "rpc/client/client.h"

namespace sluice::rpc::client {

/// Safe from any thread.
class Connection {
 public:
  Connection(ClientOptions options, std::shared_ptr<grpc::Channel> channel);

  v1::Runtime::Stub& stub() const { return *stub_; }
  const ClientOptions& options() const { return options_; }
  bool is_local() const;

  bool has_session() const { return has_session_.load(); }
  /// The daemon has given a session, which ends with the connection.
  void begin_session() { has_session_.store(true); }

  /// Waits until the daemon serves. With a session it does not: once its connection has broken, no
  /// wait brings the session back.
  Status wait_for_daemon() const;

  /// Whether the connection ended under a call, so that the daemon gave no answer.
  bool was_lost(const grpc::Status& status) const;

  /// The daemon's error. kUnavailable without a daemon, or if the session has ended with the
  /// connection.
  Status answer_of(const grpc::Status& status) const;

  /// A call that does not wait says how the last attempt to connect failed.
  grpc::Status try_call() const;
  /// kUnavailable with the reason.
  Status no_daemon(const grpc::Status& why) const;

 private:
  bool is_connected() const;
  bool connects() const;
  Status session_is_over() const;

  const ClientOptions options_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Runtime::Stub> stub_;
  std::atomic<bool> has_session_ = false;
};

}  // namespace sluice::rpc::client
