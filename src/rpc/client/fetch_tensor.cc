#include "rpc/client/fetch_tensor.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "base/system/aligned_memory.h"
#include "proto/sluice/v1/exchange.pb.h"
#include "rpc/client/credentials.h"
#include "rpc/wire/error.h"
#include "rpc/wire/tensor_chunks.h"

namespace sluice::rpc::client {
namespace {

constexpr const char* kMethod = "/sluice.v1.Exchange/FetchTensor";
/// Limit of one message: a chunk and its head.
constexpr int kMaxMessageBytes = 2 << 20;
/// Bytes under way, also in the memory of gRPC. With less, a fast network waits for the window to
/// open; the probes by which gRPC finds a size of its own would be pings, which the daemon counts.
constexpr int kWindowBytes = 4 << 20;
constexpr int kFrameBytes = 1 << 20;

using Buffer = grpc::ByteBuffer;

/// The messages of one call, for one thread that waits for each. gRPC's threads fill it.
///
///     reading --message--> (taken) --> reading ... --no more--> over --status--> done
class FetchCall final : public grpc::ClientBidiReactor<Buffer, Buffer> {
 public:
  FetchCall(grpc::GenericStub& stub, grpc::ClientContext& context, const Buffer& request)
      : context_(context), request_(request) {
    stub.PrepareBidiStreamingCall(&context_, kMethod, grpc::StubOptions(), this);
    AddHold();  // reads begin on the thread that waits
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&message_);
    StartCall();
  }
  FetchCall(const FetchCall&) = delete;
  FetchCall& operator=(const FetchCall&) = delete;
  ~FetchCall() override {
    context_.TryCancel();
    finish();
  }

  /// The next message; null when there are no more.
  /// Fails: kCancelled; kDeadlineExceeded when none has come for `idle`.
  Result<Buffer*> next(std::chrono::nanoseconds idle, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const bool has_come =
        changed_.wait_for(lock, stop, idle, [&] { return has_message_ || is_over_; });
    if (stop.stop_requested()) return make_error(Code::kCancelled, "the fetch was cancelled");
    if (!has_come) {
      return make_error(Code::kDeadlineExceeded, "the other daemon has sent nothing for a while");
    }
    if (!has_message_) return static_cast<Buffer*>(nullptr);
    taken_.Swap(&message_);
    has_message_ = false;
    lock.unlock();
    StartRead(&message_);
    return &taken_;
  }

  /// What the other side said at the end. Requires: there are no more messages, or it is cancelled.
  grpc::Status finish() {
    if (!std::exchange(is_finished_, true)) RemoveHold();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return status_.has_value(); });
    return *status_;
  }

  void OnReadDone(bool is_ok) override {
    const std::lock_guard lock(mutex_);
    (is_ok ? has_message_ : is_over_) = true;
    changed_.notify_all();
  }
  void OnDone(const grpc::Status& status) override {
    const std::lock_guard lock(mutex_);
    status_ = status;
    done_.notify_all();
  }

 private:
  grpc::ClientContext& context_;
  Buffer request_;
  Buffer message_;  ///< gRPC's until it has come
  Buffer taken_;    ///< the waiting thread's own
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::condition_variable done_;
  bool has_message_ = false;
  bool is_over_ = false;
  bool is_finished_ = false;  ///< the waiting thread's own
  std::optional<grpc::Status> status_;
};

Buffer request_of(std::uint64_t exchange, const std::string& key, std::size_t offset) {
  v1::FetchTensorRequest request;
  request.set_exchange(exchange);
  request.set_key(key);
  request.set_offset(static_cast<std::int64_t>(offset));
  const grpc::Slice slice(request.SerializeAsString());
  return {&slice, 1};
}

/// gRPC allocates what it reads and frees it behind the copy. The C library gives a heap's free end
/// back to the system above a threshold: every page of the tensor would fault once more in gRPC's
/// memory. In glibc, a block with pages of its own raises the threshold to twice its size when it
/// is freed (mallopt(3), M_MMAP_THRESHOLD).
void keep_window_in_heap() {
  void* volatile block = std::malloc(kWindowBytes);  // volatile: else a compiler leaves both out
  std::free(block);
}

Result<std::shared_ptr<grpc::Channel>> connect(const ClientOptions& peer) {
  const wire::Address address = SLUICE_TRY(wire::parse_address(peer.address));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrameBytes);
  arguments.SetInt(GRPC_ARG_TCP_READ_CHUNK_SIZE, kFrameBytes);
  arguments.SetInt(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kFrameBytes);
  return grpc::CreateCustomChannel(address.to_string(), SLUICE_TRY(credentials_of(peer)),
                                   arguments);
}

Status from_peer(const ClientOptions& peer, const Status& status) {
  return Status(status).with_context(fmt::format("the daemon at {}", peer.address));
}

/// What the other side said when it ended the call without a tensor.
Status ended_early(FetchCall& call) {
  const Status said = wire::from_grpc(call.finish());
  return said.is_ok() ? make_error(Code::kInternal, "the answer ends too early") : said;
}

/// A tensor, over as many connections as it takes.
class Fetch {
 public:
  Fetch(const ClientOptions& peer, std::uint64_t exchange, const std::string& key,
        const terms::TakeRoom& take_room, std::int64_t idle_ns, const std::stop_token& stop)
      : peer_(peer),
        exchange_(exchange),
        key_(key),
        take_room_(take_room),
        idle_(idle_ns),
        stop_(stop) {}

  Result<terms::OutputTensor> run() {
    Status status = make_error(Code::kUnavailable, "not asked yet");
    // A connection that was lost after it brought bytes is worth another one.
    for (bool is_worth = true; is_worth;) {
      const std::size_t before = got_;
      status = read();
      is_worth = status.code() == Code::kUnavailable && got_ > before;
    }
    if (!status.is_ok()) return status;
    tensor_.view.data = memory_.get();
    tensor_.owner = memory_;
    return std::move(tensor_);
  }

 private:
  Status read() {
    const auto channel = SLUICE_TRY(connect(peer_));
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    if (!peer_.token.empty()) context.AddMetadata("authorization", "Bearer " + peer_.token);
    FetchCall call(stub, context, request_of(exchange_, key_, got_));
    Buffer* message = SLUICE_TRY(call.next(idle_, stop_));
    if (message == nullptr) return ended_early(call);
    SLUICE_TRY(take_head(*message));
    while (got_ < size()) {
      message = SLUICE_TRY(call.next(idle_, stop_));
      if (message == nullptr) return ended_early(call);
      const std::span<std::byte> rest(memory_.get() + got_, size() - got_);
      got_ += SLUICE_TRY(wire::read_tensor_chunk(*message, rest));
    }
    if (SLUICE_TRY(call.next(idle_, stop_)) != nullptr) {
      return make_error(Code::kInternal, "the answer is longer than its tensor");
    }
    return wire::from_grpc(call.finish());
  }

  Status take_head(Buffer& message) {
    wire::TensorHead head = SLUICE_TRY(wire::read_tensor_head(message));
    const auto offset = static_cast<std::size_t>(head.offset_bytes);
    if (memory_ == nullptr) {
      SLUICE_TRY(take_room_(head.view.size_bytes));
      tensor_.view = std::move(head.view);
      memory_ = allocate_aligned(size());
      if (memory_ == nullptr) {
        return make_error(Code::kResourceExhausted, "no memory for a tensor of {} bytes", size());
      }
    } else if (head.view.element != tensor_.view.element || head.view.dims != tensor_.view.dims) {
      return make_error(Code::kInternal, "the tensor has another type or shape than before");
    }
    if (offset != 0 && offset != got_) {
      return make_error(Code::kInternal, "the answer begins at another place than asked for");
    }
    got_ = offset;
    return ok_status();
  }

  std::size_t size() const { return static_cast<std::size_t>(tensor_.view.size_bytes); }

  const ClientOptions& peer_;
  const std::uint64_t exchange_;
  const std::string& key_;
  const terms::TakeRoom& take_room_;
  const std::chrono::nanoseconds idle_;
  const std::stop_token& stop_;
  terms::OutputTensor tensor_;
  std::shared_ptr<std::byte> memory_;  ///< null before the first head
  std::size_t got_ = 0;                ///< bytes of it, from its front
};

}  // namespace

Result<terms::OutputTensor> fetch_tensor(const ClientOptions& peer, std::uint64_t exchange,
                                         const std::string& key, const terms::TakeRoom& take_room,
                                         std::int64_t idle_ns, const std::stop_token& stop) {
  keep_window_in_heap();
  auto tensor = Fetch(peer, exchange, key, take_room, idle_ns, stop).run();
  if (!tensor.is_ok()) return from_peer(peer, tensor.status());
  return tensor;
}

}  // namespace sluice::rpc::client
