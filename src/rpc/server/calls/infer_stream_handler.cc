#include "rpc/server/calls/infer_stream_call.h"
#include "rpc/server/calls/placed_request.h"
#include "rpc/wire/convert.h"

namespace sluice::rpc::server {
namespace {

/// The messages of sluice.v1.
struct SluiceMessages {
  using Request = v1::InferStreamRequest;
  using Response = v1::InferStreamResponse;
  struct Work {
    std::shared_ptr<Request> message;
    service::PlacedTensors placed;
  };

  static Result<StreamAsk> ask_of(const Request& message) {
    SLUICE_TRY(wire::inflate(message, wire::max_inflated_bytes()));
    switch (message.what_case()) {
      case Request::kCancel: return StreamAsk::kCancel;
      case Request::kRequest: return StreamAsk::kRequest;
      default: return StreamAsk::kNothing;
    }
  }

  static std::uint64_t id_of(const Request& message) { return message.id(); }

  static telemetry::Origin origin_of(const Request& message) {
    const v1::InferRequest& wanted = message.request();
    return {.door = "grpc-stream",
            .traceparent = wanted.traceparent(),
            .tracestate = wanted.tracestate()};
  }

  static Result<std::shared_ptr<dispatch::ModelRef>> find_model(const service::Service& service,
                                                                const service::Caller& caller,
                                                                const Request& message) {
    return service.find_model(caller, terms::ModelHandle(message.request().model()));
  }

  static Result<runtime::Request> open(service::Service& service, const service::Caller& caller,
                                       const dispatch::ModelRef& model, Work& work) {
    const v1::InferRequest& wanted = work.message->request();
    if (wanted.is_posted()) {
      return terms::runtime_error(RuntimeCode::kInvalid,
                                  "a request of a stream is not posted: post it with Infer");
    }
    runtime::Request request;
    SLUICE_TRY(open_request(service, *caller.session, wanted, model, work.placed, request));
    request.deadline_ns = SLUICE_TRY(deadline_of(work.message->timeout_ns(), model.clock()));
    request.priority = wanted.priority();
    request.wants_detail = wanted.wants_detail();
    return request;
  }

  static Status write(const runtime::Reply& reply, const dispatch::ModelRef& model,
                      std::int64_t limit_bytes, ByteCharge& charge, const Work& work,
                      Response& to) {
    to.set_id(work.message->id());
    return write_answer(reply, model.signature(), work.message->request().wants_detail(),
                        work.placed, limit_bytes, charge, *to.mutable_response());
  }

  template <typename Error>
  static void write_error(const Error& error, const Request& message, Response& to) {
    to.set_id(message.id());
    wire::to_proto(error, *to.mutable_error());
  }

 private:
  static Result<std::int64_t> deadline_of(std::int64_t timeout_ns, const Clock& clock) {
    if (timeout_ns < 0) {
      return terms::runtime_error(RuntimeCode::kInvalid, "timeout_ns: {} is negative", timeout_ns);
    }
    return timeout_ns == 0 ? kNoDeadline : deadline_after(clock, timeout_ns);
  }
};

}  // namespace

void Handlers::InferStream(Context* context) { new StreamCall<SluiceMessages>(*this, *context); }

}  // namespace sluice::rpc::server
