#include "rpc/client/infer_stream.h"

#include <grpcpp/grpcpp.h>

#include <mutex>
#include <utility>

#include "rpc/client/client_messages.h"
#include "rpc/client/infer_client.h"
#include "rpc/wire/convert.h"
#include "rpc/wire/error.h"

namespace sluice::rpc::client {
namespace {

class GrpcStream final : public InferStream {
 public:
  GrpcStream(v1::Runtime::Stub& stub, const SharedTable& shared,
             const std::function<void(grpc::ClientContext&)>& prepare, StatusReader read_status)
      : shared_(shared), read_status_(std::move(read_status)) {
    prepare(context_);
    call_ = stub.InferStream(&context_);
  }

  ~GrpcStream() override {
    if (is_over_) return;
    context_.TryCancel();
    v1::InferStreamResponse message;
    // To the end: Finish expects that no message is left to read.
    while (call_->Read(&message)) continue;
    (void)call_->Finish();  // that we cancelled it
  }

  Status send(std::uint64_t id, std::uint64_t model, const std::vector<terms::NamedTensor>& inputs,
              const InferOptions& options) override {
    if (!options.outputs.empty()) {
      return invalid_argument("outputs of a stream come in its answers; use `infer` to place them");
    }
    v1::InferStreamRequest message;
    message.set_id(id);
    message.set_timeout_ns(options.timeout_ns);
    SLUICE_TRY(write_infer(model, inputs, options, shared_, nullptr, *message.mutable_request()));
    return write(message);
  }

  Status cancel(std::uint64_t id) override {
    v1::InferStreamRequest message;
    message.set_id(id);
    message.set_cancel(true);
    return write(message);
  }

  void close() override {
    const std::lock_guard lock(write_mutex_);
    if (!std::exchange(is_closed_, true)) call_->WritesDone();
  }

  void abort() override { context_.TryCancel(); }

  Result<std::optional<StreamAnswer>> next() override {
    if (is_over_) return make_error(Code::kFailedPrecondition, "the stream is over");
    const auto message = std::make_shared<v1::InferStreamResponse>();
    if (!call_->Read(message.get())) {
      close();
      is_over_ = true;
      SLUICE_TRY(read_status_(call_->Finish()));
      return std::optional<StreamAnswer>();
    }
    auto reply = message->has_response() ? read_infer({message, &message->response()}, {})
                                         : Result<InferReply>(wire::from_proto(message->error()));
    return std::optional<StreamAnswer>(StreamAnswer{message->id(), std::move(reply)});
  }

 private:
  Status write(const v1::InferStreamRequest& message) {
    const std::lock_guard lock(write_mutex_);
    if (!is_closed_ && call_->Write(message)) return ok_status();
    return make_error(Code::kUnavailable, "the stream takes no more requests");
  }

  const SharedTable& shared_;
  const StatusReader read_status_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::InferStreamRequest, v1::InferStreamResponse>> call_;
  std::mutex write_mutex_;
  bool is_closed_ = false;
  bool is_over_ = false;  ///< its reader's
};

}  // namespace

std::unique_ptr<InferStream> open_stream(v1::Runtime::Stub& stub, const SharedTable& shared,
                                         const std::function<void(grpc::ClientContext&)>& prepare,
                                         StatusReader read_status) {
  return std::make_unique<GrpcStream>(stub, shared, prepare, std::move(read_status));
}

}  // namespace sluice::rpc::client
