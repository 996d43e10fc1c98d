#include "rpc/server/peers/fetch_handler.h"

#include <algorithm>
#include <utility>

#include "dispatch/turn.h"
#include "rpc/server/calls/handlers.h"
#include "rpc/server/calls/idle_limit.h"
#include "rpc/wire/coded_message.h"
#include "rpc/wire/error.h"
#include "rpc/wire/tensor_chunks.h"

namespace sluice::rpc::server {
namespace {

/// Limit of all peers together. A fetch holds a tensor, which counts for its owner until the end.
constexpr int kMaxFetches = 256;

Status too_many() {
  return terms::runtime_error(
      RuntimeCode::kOutOfResources,
      "{} tensors are being fetched from this daemon; try again when one has gone", kMaxFetches);
}

/// Sends a tensor, and holds its lease meanwhile. A peer that takes nothing for a while is ended:
/// the memory is its owner's quota.
///
///     head --> chunk --> ... --> chunk --> done
class FetchCall final : public Reactor {
 public:
  FetchCall(CallContext& context, Result<Wanted> wanted, std::atomic<int>& num_fetches,
            std::int64_t idle_limit_ns)
      : Reactor(context), turn_(num_fetches, kMaxFetches), idle_(idle_limit_ns) {
    if (wanted.is_ok() && !turn_.is_free()) wanted = too_many();
    if (!wanted.is_ok()) {
      finish(wire::to_grpc(wanted.status()));
      return;
    }
    start_timer(idle_.left_ns());
    tensor_ = std::move(wanted->tensor);
    sent_ = static_cast<std::size_t>(wanted->offset_bytes);
    start_write(OutMessage(wire::write_tensor_head({tensor_->view, wanted->offset_bytes})));
  }

  void on_write_done(bool is_ok) override {
    idle_.restart();
    if (!is_ok) {
      finish(wire::to_grpc(make_error(Code::kCancelled, "the peer is gone")));
      return;
    }
    const auto size = static_cast<std::size_t>(tensor_->view.size_bytes);
    const std::size_t bytes = std::min(wire::kTensorChunkBytes, size - sent_);
    if (bytes == 0) {
      finish(grpc::Status::OK);
      return;
    }
    start_write(OutMessage(wire::write_tensor_chunk(tensor_, sent_, bytes)));
    sent_ += bytes;
  }
  void on_time() override {
    if (idle_.left_ns() > 0) return start_timer(idle_.left_ns());
    context().cancel();
  }
  void on_done() override { delete this; }

 private:
  const dispatch::Turn turn_;
  sandbox::ExchangeTable::Lease tensor_;
  std::size_t sent_ = 0;  ///< bytes that the peer has, from this call or an earlier one
  IdleLimit idle_;
};

}  // namespace

FetchHandler::FetchHandler(service::Service& service, std::vector<service::AccessToken> tokens)
    : service_(service) {
  tokens_.set(std::move(tokens));
}

void FetchHandler::add_to(Methods& methods) {
  ServiceMethods<FetchHandler>(methods, "sluice.v1.Exchange", *this)
      .add("FetchTensor", &FetchHandler::FetchTensor);
}

Result<Wanted> FetchHandler::find(const CallContext& context,
                                  const v1::FetchTensorRequest& wanted) const {
  terms::Peer peer = context.peer();
  auto token = tokens_.find(service::bearer_secret(context.metadata("authorization")));
  if (token) peer.token = std::move(token->name);
  SLUICE_TRY(service_.authorize(peer, terms::Role::kFetch));  // before anything of it is inflated
  SLUICE_TRY(wire::inflate(wanted));
  auto tensor =
      SLUICE_TRY(service_.get_offered(peer, terms::TensorIndex{wanted.exchange()}, wanted.key()));
  if (wanted.offset() < 0 || wanted.offset() > tensor->view.size_bytes) {
    return terms::runtime_error(RuntimeCode::kInvalid, "offset {} of a tensor of {} bytes",
                                wanted.offset(), tensor->view.size_bytes);
  }
  return Wanted{std::move(tensor), wanted.offset()};
}

void FetchHandler::FetchTensor(CallContext* context, const v1::FetchTensorRequest* request) {
  new FetchCall(*context, find(*context, *request), num_fetches_,
                service_.options().upload_idle_ns);
}

}  // namespace sluice::rpc::server
