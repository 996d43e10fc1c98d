#include "rpc/client/otlp/span_call.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <future>
#include <memory>
#include <stop_token>
#include <utility>

#include "rpc/wire/error.h"
#include "rpc/wire/times.h"

namespace sluice::rpc::client {
namespace {

// The bytes are a message already, so the generic stub needs no generated code of the service.
constexpr const char* kMethod = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

}  // namespace

std::function<Status(const std::string& request, const std::stop_token& stop)> otlp_span_call(
    const std::string& target, std::int64_t timeout_ns) {
  const auto stub = std::make_shared<grpc::GenericStub>(
      grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
  return [stub, timeout_ns](const std::string& request, const std::stop_token& stop) -> Status {
    const grpc::Slice slice(request);
    const grpc::ByteBuffer sent(&slice, 1);
    grpc::ByteBuffer received;
    grpc::ClientContext context;
    context.set_deadline(wire::after(timeout_ns));
    // Both threads own the promise: set_value may still run when the waiting thread goes on.
    const auto done = std::make_shared<std::promise<grpc::Status>>();
    stub->UnaryCall(&context, kMethod, grpc::StubOptions(), &sent, &received,
                    [done](grpc::Status status) { done->set_value(std::move(status)); });
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    const grpc::Status status = done->get_future().get();
    if (status.ok()) return ok_status();
    return Status(static_cast<Code>(status.error_code()), status.error_message());
  };
}

}  // namespace sluice::rpc::client
