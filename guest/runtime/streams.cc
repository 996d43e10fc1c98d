#include "guest/runtime/streams.h"

#include "guest/runtime/connection.h"

namespace sluice::guest {
namespace {

/// The default stream of a thread; made when it is first used.
class ThreadStream {
 public:
  ~ThreadStream() {
    if (number_ == 0) return;
    Connection::get().post(CallKind::kStreamDestroy, to_body(HandleBody{.handle = number_}));
  }
  std::uint64_t number() {
    if (number_ == 0) {
      Connection::Words words = {};
      if (Connection::get().ask(CallKind::kStreamCreate, {}, {}, &words) == Error::kSuccess) {
        number_ = words[0];
      }
    }
    return number_;
  }

 private:
  std::uint64_t number_ = 0;
};

thread_local ThreadStream thread_stream;

Error create(void** stream, unsigned flags, int priority) {
  if (stream == nullptr) return Error::kInvalidValue;
  Connection::Words words = {};
  const HandleBody body = {.flags = flags, .value = priority};
  const Error error = Connection::get().ask(CallKind::kStreamCreate, to_body(body), {}, &words);
  if (error == Error::kSuccess)
    *stream = reinterpret_cast<void*>(kFirstHandle + words[0]);  // NOLINT
  return error;
}

Error on_stream(CallKind kind, std::uint64_t stream) {
  return Connection::get().ask(kind, to_body(HandleBody{.handle = stream}));
}

Error wait_event(std::uint64_t stream, const void* event) {
  const HandleBody body = {.handle = stream, .other = reinterpret_cast<std::uintptr_t>(event)};
  return Connection::get().post(CallKind::kStreamWaitEvent, to_body(body));
}

}  // namespace

std::uint64_t stream_number(const void* stream, bool is_per_thread) {
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  if (handle == kPerThreadStream || (handle == 0 && is_per_thread)) return thread_stream.number();
  if (handle <= kLegacyStream) return kDefaultStream;
  return handle > kFirstHandle ? handle - kFirstHandle : UINT64_MAX;
}

}  // namespace sluice::guest

using sluice::guest::CallKind;
using sluice::guest::note;
using sluice::guest::stream_number;

SLUICE_GUEST_EXPORT int cudaStreamCreate(void** stream) {
  return note(sluice::guest::create(stream, 0, 0));
}
SLUICE_GUEST_EXPORT int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  return note(sluice::guest::create(stream, flags, 0));
}
SLUICE_GUEST_EXPORT int cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return note(sluice::guest::create(stream, flags, priority));
}
SLUICE_GUEST_EXPORT int cudaStreamDestroy(void* stream) {
  return note(sluice::guest::on_stream(CallKind::kStreamDestroy, stream_number(stream)));
}
SLUICE_GUEST_EXPORT int cudaStreamSynchronize(void* stream) {
  return note(sluice::guest::on_stream(CallKind::kStreamWait, stream_number(stream)));
}
SLUICE_GUEST_EXPORT int cudaStreamSynchronize_ptsz(void* stream) {
  return note(sluice::guest::on_stream(CallKind::kStreamWait, stream_number(stream, true)));
}
SLUICE_GUEST_EXPORT int cudaStreamQuery(void* stream) {
  return note(sluice::guest::on_stream(CallKind::kStreamAsk, stream_number(stream)));
}
SLUICE_GUEST_EXPORT int cudaStreamQuery_ptsz(void* stream) {
  return note(sluice::guest::on_stream(CallKind::kStreamAsk, stream_number(stream, true)));
}
SLUICE_GUEST_EXPORT int cudaStreamWaitEvent(void* stream, void* event, unsigned /*flags*/) {
  return note(sluice::guest::wait_event(stream_number(stream), event));
}
SLUICE_GUEST_EXPORT int cudaStreamWaitEvent_ptsz(void* stream, void* event, unsigned /*flags*/) {
  return note(sluice::guest::wait_event(stream_number(stream, true), event));
}
SLUICE_GUEST_EXPORT int cudaDeviceSynchronize() {
  return note(sluice::guest::Connection::get().ask(CallKind::kDeviceWait, {}));
}
/// Smaller numbers are more urgent.
SLUICE_GUEST_EXPORT int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = sluice::guest::kGreatestPriority;
  return 0;
}
