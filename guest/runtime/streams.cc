#include "guest/runtime/streams.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "guest/runtime/abi.h"
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

struct StreamFacts {
  unsigned flags = 0;
  int priority = 0;
};

/// What programs ask of the streams that they have created. Safe across threads.
class KnownStreams {
 public:
  static KnownStreams& get() {
    static auto* const kStreams = new KnownStreams;
    return *kStreams;
  }
  void add(std::uint64_t number, StreamFacts facts) {
    const std::lock_guard lock(mutex_);
    known_[number] = facts;
  }
  void remove(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    known_.erase(number);
  }
  /// Those of the default stream for other numbers.
  StreamFacts of(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(number);
    return found != known_.end() ? found->second : StreamFacts();
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, StreamFacts> known_;
};

Error create(void** stream, unsigned flags, int priority) {
  if (stream == nullptr) return Error::kInvalidValue;
  Connection::Words words = {};
  const HandleBody body = {.flags = flags, .value = priority};
  const Error error = Connection::get().ask(CallKind::kStreamCreate, to_body(body), {}, &words);
  if (error != Error::kSuccess) return error;
  *stream = reinterpret_cast<void*>(kFirstHandle + words[0]);  // NOLINT
  KnownStreams::get().add(words[0], {flags, std::clamp(priority, kGreatestPriority, 0)});
  return error;
}

Error destroy_stream(std::uint64_t stream) {
  KnownStreams::get().remove(stream);
  return Connection::get().ask(CallKind::kStreamDestroy, to_body(HandleBody{.handle = stream}));
}

template <typename T>
Error give(T* to, T value) {
  if (to == nullptr) return Error::kInvalidValue;
  *to = value;
  return Error::kSuccess;
}

/// The caller waits for the stream and runs the function, so later work of the stream comes behind
/// the function.
template <typename Function>
Error run_on_host(std::uint64_t stream, const Function& function) {
  const Error error =
      Connection::get().ask(CallKind::kStreamWait, to_body(HandleBody{.handle = stream}));
  if (error == Error::kSuccess) function();
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
  return note(sluice::guest::destroy_stream(stream_number(stream)));
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
using sluice::guest::HostCallback;
using sluice::guest::HostFunction;
using sluice::guest::KnownStreams;
SLUICE_GUEST_EXPORT int cudaStreamGetFlags(void* stream, unsigned* flags) {
  return note(sluice::guest::give(flags, KnownStreams::get().of(stream_number(stream)).flags));
}
SLUICE_GUEST_EXPORT int cudaStreamGetFlags_ptsz(void* stream, unsigned* flags) {
  return note(
      sluice::guest::give(flags, KnownStreams::get().of(stream_number(stream, true)).flags));
}
SLUICE_GUEST_EXPORT int cudaStreamGetPriority(void* stream, int* priority) {
  return note(
      sluice::guest::give(priority, KnownStreams::get().of(stream_number(stream)).priority));
}
SLUICE_GUEST_EXPORT int cudaStreamGetPriority_ptsz(void* stream, int* priority) {
  return note(
      sluice::guest::give(priority, KnownStreams::get().of(stream_number(stream, true)).priority));
}
SLUICE_GUEST_EXPORT int cudaStreamGetDevice(void* /*stream*/, int* device) {
  return note(sluice::guest::give(device, 0));
}
SLUICE_GUEST_EXPORT int cudaStreamGetDevice_ptsz(void* /*stream*/, int* device) {
  return note(sluice::guest::give(device, 0));
}
SLUICE_GUEST_EXPORT int cudaStreamGetId(void* stream, unsigned long long* number) {
  return note(sluice::guest::give<unsigned long long>(number, stream_number(stream)));
}
SLUICE_GUEST_EXPORT int cudaStreamGetId_ptsz(void* stream, unsigned long long* number) {
  return note(sluice::guest::give<unsigned long long>(number, stream_number(stream, true)));
}
SLUICE_GUEST_EXPORT int cudaLaunchHostFunc(void* stream, HostFunction function, void* data) {
  return note(sluice::guest::run_on_host(stream_number(stream), [&] { function(data); }));
}
SLUICE_GUEST_EXPORT int cudaLaunchHostFunc_ptsz(void* stream, HostFunction function, void* data) {
  return note(sluice::guest::run_on_host(stream_number(stream, true), [&] { function(data); }));
}
SLUICE_GUEST_EXPORT int cudaStreamAddCallback(void* stream, HostCallback callback, void* data,
                                              unsigned /*flags*/) {
  return note(
      sluice::guest::run_on_host(stream_number(stream), [&] { callback(stream, 0, data); }));
}
SLUICE_GUEST_EXPORT int cudaStreamAddCallback_ptsz(void* stream, HostCallback callback, void* data,
                                                   unsigned /*flags*/) {
  return note(
      sluice::guest::run_on_host(stream_number(stream, true), [&] { callback(stream, 0, data); }));
}
