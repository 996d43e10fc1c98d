#include "open_inference/models.h"
#include "rpc/server/calls/infer_stream_call.h"
#include "rpc/server/open_inference/inference_handlers.h"
#include "rpc/server/open_inference/text_request.h"
#include "rpc/wire/coded_message.h"

namespace sluice::rpc::server {
namespace {

constexpr const char* kFinalResponse = "triton_final_response";

/// The messages of the Open Inference Protocol. Ids of clients are texts that may be empty or come
/// twice, so the stream numbers its requests. An error answers its request and leaves the stream
/// open.
class OpenMessages {
 public:
  using Request = inference::ModelInferRequest;
  using Response = inference::ModelStreamInferResponse;
  struct Work {
    std::shared_ptr<Request> message;
    OpenInferCall call;
    bool is_streamed = false;  ///< of a text
    std::string whole;         ///< of a text that is not streamed, what has come
  };

  static Result<StreamAsk> ask_of(const Request& /*message*/) { return StreamAsk::kRequest; }

  std::uint64_t id_of(const Request& /*message*/) { return next_id_++; }

  static telemetry::Origin origin_of(const Request& /*message*/) {
    return {.door = "open-inference-stream"};
  }

  static Result<std::shared_ptr<dispatch::ModelRef>> find_model(const service::Service& service,
                                                                const service::Caller& caller,
                                                                Request& message) {
    SLUICE_TRY(wire::inflate(message, wire::max_inflated_bytes()));
    return open_inference::find_model(service, caller, message.model_name(),
                                      message.model_version());
  }

  static Result<runtime::Request> open(const service::Service& /*service*/,
                                       const service::Caller& caller,
                                       const dispatch::ModelRef& model, Work& work) {
    SLUICE_TRY(read_request(*work.message, work.call));
    SLUICE_TRY(open_inference::open_regions(*caller.session, work.call.plain, work.call.owners));
    return open_inference::to_runtime(work.call.plain, model, kNoDeadline, work.call.owners);
  }

  static Status write(const runtime::Reply& reply, const dispatch::ModelRef& model,
                      std::int64_t limit_bytes, ByteCharge& charge, const Work& work,
                      Response& to) {
    SLUICE_TRY(write_response(reply, model, *work.message, work.call.plain, limit_bytes, charge,
                              *to.mutable_infer_response()));
    set_final(*to.mutable_infer_response());
    return ok_status();
  }

  // Each piece of a streamed text is an answer. The last answer is marked.

  struct Texts {};

  static bool asks_for_text(const dispatch::ModelRef& model, const Request& message) {
    return server::asks_for_text(model, message);
  }

  static Result<std::string> text_body(const service::Caller& caller, Work& work) {
    SLUICE_TRY(read_request(*work.message, work.call));
    SLUICE_TRY(open_inference::open_regions(*caller.session, work.call.plain, work.call.owners));
    TextBody body = SLUICE_TRY(read_text_body(*work.message, work.call.plain));
    work.is_streamed = body.is_streamed;
    return std::move(body.json);
  }

  static bool write_piece(const std::string& text, const dispatch::ModelRef& model, Work& work,
                          Response& to) {
    if (!work.is_streamed) {
      work.whole += text;
      return false;
    }
    write_text(text, /*is_final=*/false, model, *work.message, *to.mutable_infer_response());
    return true;
  }

  static void write_end(const dispatch::ModelRef& model, const Work& work, Response& to) {
    inference::ModelInferResponse& response = *to.mutable_infer_response();
    if (work.is_streamed) {
      write_text_end(model, *work.message, response);
    } else {
      write_text(work.whole, /*is_final=*/true, model, *work.message, response);
    }
  }

  static void write_error(const terms::ErrorList& errors, const Request& message, Response& to) {
    write_error(errors.to_status(), message, to);
  }
  static void write_error(const Status& error, const Request& message, Response& to) {
    to.set_error_message(wire::to_grpc(error).error_message());
    inference::ModelInferResponse& response = *to.mutable_infer_response();
    response.Clear();
    response.set_model_name(message.model_name());
    response.set_id(message.id());
    set_final(response);
  }

 private:
  /// There is one answer for each request.
  static void set_final(inference::ModelInferResponse& response) {
    (*response.mutable_parameters())[kFinalResponse].set_bool_param(true);
  }

  std::uint64_t next_id_ = 1;
};

}  // namespace

void infer_stream(Handlers& handlers, CallContext* context) {
  new StreamCall<OpenMessages>(handlers, *context);
}

}  // namespace sluice::rpc::server
