#include "api/runtime/request_table.h"

#include <utility>

#include "base/process/with_lock.h"

namespace sluice::api {
namespace {

Status spent(std::uint64_t request) {
  return terms::runtime_error(RuntimeCode::kInvalidHandle,
                              "no request has id {:#x}, or its reply was taken", request);
}

Status goes_to_callback(std::uint64_t request) {
  return terms::runtime_error(RuntimeCode::kFailed,
                              "the reply of request {:#x} goes to its callback", request);
}

}  // namespace

Result<std::uint64_t> RequestTable::submit(Runtime& runtime, const InferCall& call,
                                           Callback callback) {
  auto posted = std::make_shared<Posted>();
  posted->has_callback = callback != nullptr;
  // The id exists before the request: the callback may run before `submit` returns.
  const std::uint64_t id = posted_.insert(posted);
  auto flight =
      runtime.submit(call, [this, posted, id, callback = std::move(callback)](InferReply reply) {
        if (callback) {
          posted_.remove(id);
          posted->is_done.store(true, std::memory_order_release);
          callback(id, std::move(reply));
          return;
        }
        posted->reply = std::move(reply);
        posted->is_done.store(true, std::memory_order_release);
      });
  if (!flight.is_ok()) {
    posted_.remove(id);
    return flight.status();
  }
  const std::lock_guard lock(posted->mutex);
  posted->flight = std::move(*flight);
  return id;
}

Result<std::shared_ptr<RequestTable::Posted>> RequestTable::find(std::uint64_t request) const {
  auto posted = posted_.find(request);
  if (posted == nullptr) return spent(request);
  return posted;
}

Result<InferReply> RequestTable::poll(Runtime& runtime, std::uint64_t request) {
  if (is_posted(request)) return runtime.take_reply(request, 0);
  const auto posted = SLUICE_TRY(find(request));
  if (posted->has_callback) return goes_to_callback(request);
  if (!posted->is_done.load(std::memory_order_acquire)) {
    return terms::runtime_error(RuntimeCode::kPending, "the request is not done yet");
  }
  // If several callers are concurrent, the one that removes the entry gets the reply.
  if (posted_.remove(request) == nullptr) return spent(request);
  return std::move(posted->reply);
}

Result<InferReply> RequestTable::wait(Runtime& runtime, std::uint64_t request,
                                      TimeoutNs timeout_ns) {
  if (is_posted(request)) return runtime.take_reply(request, timeout_ns);
  const auto posted = SLUICE_TRY(find(request));
  if (posted->has_callback) return goes_to_callback(request);
  const auto flight = with_lock(posted->mutex, [&] { return posted->flight; });
  // A wait may run the request on this thread, for which a caller without a timeout has no time.
  if (flight != nullptr && timeout_ns != 0) {
    flight->wait([&] { return posted->is_done.load(std::memory_order_acquire); }, timeout_ns);
  }
  return poll(runtime, request);
}

Status RequestTable::cancel(Runtime& runtime, std::uint64_t request) {
  if (is_posted(request)) return runtime.cancel_posted(request);
  const auto posted = SLUICE_TRY(find(request));
  const std::lock_guard lock(posted->mutex);
  if (posted->flight != nullptr) posted->flight->cancel();
  return ok_status();
}

}  // namespace sluice::api
