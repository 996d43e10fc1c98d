#include <atomic>
#include <optional>

#include "rpc/convert.h"
#include "rpc/error.h"
#include "rpc/handlers.h"
#include "service/upload.h"

namespace sluice::rpc {
namespace {

using runtime::RuntimeCode;

///     (start) --options: path--> loading --> done
///        |                          ^
///        +--options: upload--> receiving --the client has sent all--> loading
class LoadCall final : public grpc::ServerReadReactor<v1::LoadModelRequest> {
 public:
  LoadCall(Handlers& handlers, const grpc::CallbackServerContext& context,
           v1::LoadModelResponse& response)
      : handlers_(handlers), response_(response) {
    auto caller = handlers_.caller_of(context);
    if (!caller.is_ok()) {
      Finish(to_grpc(caller.status()));
      return;
    }
    caller_ = std::move(*caller);
    StartRead(&message_);
  }

  void OnReadDone(bool is_ok) override {
    const Status status = is_ok ? take() : begin();
    if (!status.is_ok()) {
      Finish(to_grpc(status));
    } else if (is_ok) {
      StartRead(&message_);
    }
  }
  void OnCancel() override { is_cancelled_.store(true); }
  void OnDone() override { delete this; }

  ~LoadCall() override { handlers_.release_upload(reserved_bytes_); }
  LoadCall(const LoadCall&) = delete;
  LoadCall& operator=(const LoadCall&) = delete;

 private:
  Status take() {
    switch (message_.part_case()) {
      case v1::LoadModelRequest::kOptions: return take_options();
      case v1::LoadModelRequest::kChunk: return take_chunk();
      default: return runtime_error(RuntimeCode::kInvalid, "neither options nor a chunk came");
    }
  }

  Status take_options() {
    if (options_) return runtime_error(RuntimeCode::kInvalid, "options came twice");
    LoadWish wish = SLUICE_TRY(
        from_proto(message_.options(), handlers_.service().options().upload_limit_bytes));
    if (wish.upload_bytes > 0) {
      SLUICE_TRY(handlers_.reserve_upload(wish.upload_bytes));
      reserved_bytes_ = wish.upload_bytes;
      upload_ = SLUICE_TRY(service::Upload::create(wish.upload_bytes));
    }
    only_estimates_ = wish.only_estimates;
    path_ = std::move(wish.path);
    options_ = std::move(wish.options);
    return ok_status();
  }

  Status take_chunk() {
    if (!options_) return runtime_error(RuntimeCode::kInvalid, "a chunk came before the options");
    if (upload_ == nullptr) {
      return runtime_error(RuntimeCode::kInvalid, "a chunk came for a load by path");
    }
    return upload_->append(message_.chunk());
  }

  /// The client has sent all.
  Status begin() {
    if (is_cancelled_) return make_error(Code::kCancelled, "the client is gone");
    if (!options_) return runtime_error(RuntimeCode::kInvalid, "no options came");
    return handlers_.workers().run([this] { Finish(to_grpc(load())); });
  }

  Status load() {
    std::shared_ptr<const package::Executable> executable;
    const std::unique_ptr<service::Upload> upload = std::move(upload_);
    if (upload != nullptr) executable = SLUICE_TRY(upload->finish());
    if (only_estimates_) {
      const auto footprint =
          SLUICE_TRY(handlers_.service().estimate(*options_, path_, std::move(executable)));
      to_proto(footprint, *response_.mutable_footprint());
      return ok_status();
    }
    const auto entry = SLUICE_TRY(handlers_.service().load(
        caller_, *options_, path_, std::move(executable), upload == nullptr ? -1 : upload->fd()));
    if (is_cancelled_ && caller_.session->id() == service::kNobody) {
      // Nobody knows the handle, and no session's end will free it.
      return handlers_.service().unload(caller_, runtime::ModelHandle(entry.info.handle), 0);
    }
    to_proto(entry, *response_.mutable_model());
    to_proto(entry.info.footprint, *response_.mutable_footprint());
    return ok_status();
  }

  Handlers& handlers_;
  v1::LoadModelResponse& response_;
  std::atomic<bool> is_cancelled_ = false;
  service::Caller caller_;
  v1::LoadModelRequest message_;
  std::optional<service::LoadOptions> options_;
  bool only_estimates_ = false;
  std::string path_;
  std::int64_t reserved_bytes_ = 0;
  std::unique_ptr<service::Upload> upload_;
};

}  // namespace

grpc::ServerReadReactor<v1::LoadModelRequest>* load_model(
    Handlers& handlers, const grpc::CallbackServerContext& context,
    v1::LoadModelResponse& response) {
  return new LoadCall(handlers, context, response);
}

}  // namespace sluice::rpc
