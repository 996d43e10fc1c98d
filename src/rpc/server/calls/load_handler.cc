#include <atomic>
#include <optional>

#include "base/no_memory.h"
#include "package/executable.h"
#include "rpc/server/calls/handlers.h"
#include "rpc/server/calls/idle_limit.h"
#include "rpc/wire/convert.h"
#include "rpc/wire/error.h"
#include "service/packages/upload.h"

namespace sluice::rpc::server {
namespace {

/// Bytes of an upload that must come before `upload_idle_seconds` are over.
constexpr std::int64_t kBytesInTime = 1 << 20;

///     (start) --options: path--> loading --> done
///        |                          ^
///        +--options: upload--> receiving --the client has sent all--> loading
///                                 |
///                                 +--the client sends too little for a while--> done
class LoadCall final : public Reactor {
 public:
  LoadCall(Handlers& handlers, CallContext& context, v1::LoadModelResponse& response)
      : Reactor(context), handlers_(handlers), response_(response) {
    auto caller = handlers_.caller_of(context, terms::Role::kControl);
    if (!caller.is_ok()) {
      finish(caller.status());
      return;
    }
    caller_ = std::move(*caller);
    start_read(message_);
  }

  void on_read_done(bool is_ok) override {
    const Status status = is_ok ? take() : begin();
    if (!status.is_ok()) {
      finish(status);
    } else if (is_ok) {
      start_read(message_);
    }
  }
  void on_time() override {
    if (!idle_) return;  // all has come
    if (idle_->left_ns() > 0) return start_timer(idle_->left_ns());
    finish(terms::runtime_error(RuntimeCode::kTimeout, "the upload is too slow; send it again"));
  }
  void on_cancel() override { is_cancelled_.store(true); }
  void on_done() override { delete this; }

  ~LoadCall() override { handlers_.release_upload(reserved_bytes_); }
  LoadCall(const LoadCall&) = delete;
  LoadCall& operator=(const LoadCall&) = delete;

 private:
  Status take() {
    SLUICE_TRY(wire::inflate(message_, wire::max_inflated_bytes()));
    switch (message_.part_case()) {
      case v1::LoadModelRequest::kOptions: return take_options();
      case v1::LoadModelRequest::kChunk: return take_chunk();
      default:
        return terms::runtime_error(RuntimeCode::kInvalid, "neither options nor a chunk came");
    }
  }

  Status take_options() {
    if (options_) return terms::runtime_error(RuntimeCode::kInvalid, "options came twice");
    wire::LoadSettings settings = SLUICE_TRY(
        wire::from_proto(message_.options(), handlers_.service().options().max_upload_bytes));
    if (settings.upload_bytes > 0) {
      upload_ = SLUICE_TRY(
          service::Upload::create(settings.upload_bytes, caller_.session->memory().packages));
      idle_.emplace(handlers_.service().options().upload_idle_ns);
      start_timer(idle_->left_ns());
    }
    only_estimates_ = settings.only_estimates;
    source_ = {std::move(settings.path), std::move(settings.file_version)};
    options_ = std::move(settings.options);
    return ok_status();
  }

  Status take_chunk() {
    if (!options_)
      return terms::runtime_error(RuntimeCode::kInvalid, "a chunk came before the options");
    if (upload_ == nullptr) {
      return terms::runtime_error(RuntimeCode::kInvalid, "a chunk came for a load by path");
    }
    // Room is taken as bytes come: what a client only announces keeps nobody else out.
    const auto bytes = static_cast<std::int64_t>(message_.chunk().size());
    SLUICE_TRY(handlers_.reserve_upload(bytes));
    reserved_bytes_ += bytes;
    // The time is for each MiB: an upload of a few bytes now and then would never end.
    fresh_bytes_ += bytes;
    if (fresh_bytes_ >= kBytesInTime) {
      fresh_bytes_ = 0;
      idle_->restart();
    }
    return upload_->append(message_.chunk());
  }

  /// The client has sent all.
  Status begin() {
    idle_ = std::nullopt;
    if (is_finished_) return ok_status();
    if (is_cancelled_) return make_error(Code::kCancelled, "the client is gone");
    if (!options_) return terms::runtime_error(RuntimeCode::kInvalid, "no options came");
    return handlers_.threads().run([this] { finish(catch_no_memory([this] { return load(); })); });
  }

  /// The first time; afterwards only on_done may touch this object.
  void finish(const Status& status) {
    if (!is_finished_.exchange(true)) Reactor::finish(wire::to_grpc(status));
  }

  Status load() {
    std::shared_ptr<const package::Executable> executable;
    const std::unique_ptr<service::Upload> upload = std::move(upload_);
    if (upload != nullptr) executable = SLUICE_TRY(upload->finish(handlers_.service().uploads()));
    if (only_estimates_) {
      const auto footprint =
          SLUICE_TRY(handlers_.service().estimate(*options_, source_, std::move(executable)));
      wire::to_proto(footprint, *response_.mutable_footprint());
      return ok_status();
    }
    const auto entry = SLUICE_TRY(handlers_.service().load(
        caller_, *options_, source_, std::move(executable), upload == nullptr ? -1 : upload->fd()));
    if (is_cancelled_ && caller_.session->id() == terms::kNobody) {
      // Nobody knows the handle, and no session's end will free it.
      return handlers_.service().unload(caller_, terms::ModelHandle(entry.info.handle), 0);
    }
    wire::to_proto(entry, *response_.mutable_model());
    wire::to_proto(entry.info.footprint, *response_.mutable_footprint());
    return ok_status();
  }

  Handlers& handlers_;
  v1::LoadModelResponse& response_;
  std::atomic<bool> is_cancelled_ = false;
  std::atomic<bool> is_finished_ = false;
  service::Caller caller_;
  v1::LoadModelRequest message_;
  std::optional<terms::LoadOptions> options_;
  bool only_estimates_ = false;
  service::PackageFile source_;
  std::int64_t reserved_bytes_ = 0;
  std::int64_t fresh_bytes_ = 0;  ///< since the time began anew
  std::unique_ptr<service::Upload> upload_;
  std::optional<IdleLimit> idle_;  ///< of an upload until it has come
};

}  // namespace

void Handlers::LoadModel(Context* context, v1::LoadModelResponse* response) {
  new LoadCall(*this, *context, *response);
}

}  // namespace sluice::rpc::server
