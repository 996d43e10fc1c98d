#include "rpc/client/connection.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "rpc/wire/error.h"
#include "rpc/wire/times.h"

namespace sluice::rpc::client {
namespace {

constexpr std::int64_t kReasonTimeoutNs = 1'000'000'000;
/// Between two attempts to connect, doubled each time. A daemon that starts serves within
/// milliseconds; gRPC's own first wait is a second.
constexpr std::int64_t kFirstAttemptNs = 2'000'000;
constexpr std::int64_t kLongestAttemptNs = 128'000'000;

/// gRPC's own errors have no details.
bool is_of_grpc(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE && status.error_details().empty();
}

}  // namespace

Connection::Connection(ClientOptions options, std::shared_ptr<grpc::Channel> channel)
    : options_(std::move(options)),
      channel_(std::move(channel)),
      stub_(v1::Runtime::NewStub(channel_)) {}

bool Connection::is_local() const {
  return options_.address.starts_with("unix:") || options_.address.starts_with("/");
}

bool Connection::is_connected() const { return channel_->GetState(false) == GRPC_CHANNEL_READY; }

/// Fails: no attempt to connect succeeded within the time of the options.
bool Connection::connects() const {
  const std::int64_t end_ns = deadline_after(system_clock(), options_.connect_timeout_ns);
  for (std::int64_t wait_ns = kFirstAttemptNs;;
       wait_ns = std::min(2 * wait_ns, kLongestAttemptNs)) {
    const std::int64_t left_ns = end_ns - system_clock().now_ns();
    if (channel_->WaitForConnected(wire::after(std::min(wait_ns, left_ns)))) return true;
    if (wait_ns >= left_ns) return false;
    grpc::experimental::ChannelResetConnectionBackoff(channel_.get());
  }
}

Status Connection::wait_for_daemon() const {
  if (is_connected()) return ok_status();
  if (has_session_.load()) return session_is_over();
  return connects() ? ok_status() : no_daemon(try_call());
}

bool Connection::was_lost(const grpc::Status& status) const {
  if (!is_of_grpc(status)) return false;
  // The channel may learn of the end after the call does.
  channel_->WaitForStateChange(GRPC_CHANNEL_READY, wire::after(kReasonTimeoutNs));
  return !is_connected();
}

Status Connection::answer_of(const grpc::Status& status) const {
  if (!is_of_grpc(status)) return wire::from_grpc(status);
  return has_session_.load() && was_lost(status) ? session_is_over() : no_daemon(status);
}

grpc::Status Connection::try_call() const {
  grpc::ClientContext context;
  context.set_deadline(wire::after(kReasonTimeoutNs));
  v1::GetServerResponse response;
  return stub_->GetServer(&context, v1::GetServerRequest(), &response);
}

Status Connection::session_is_over() const {
  return make_error(Code::kUnavailable,
                    "the connection to the daemon at {} has ended, and this client's session with "
                    "it: connect again, and load the models again",
                    options_.address);
}

Status Connection::no_daemon(const grpc::Status& why) const {
  return make_error(Code::kUnavailable, "no daemon answers at {}: {}; is sluiced running, and {}",
                    options_.address, why.error_message(),
                    is_local() ? "may this user connect?" : "do both sides agree on TLS?");
}

}  // namespace sluice::rpc::client
