#include <bit>

#include "guest/runtime/connection.h"
#include "guest/runtime/streams.h"

namespace sluice::guest {
namespace {

std::uint64_t event_number(const void* event) { return reinterpret_cast<std::uintptr_t>(event); }

Error create_event(void** event, unsigned flags) {
  if (event == nullptr) return Error::kInvalidValue;
  Connection::Words words = {};
  const Error error = Connection::get().ask(CallKind::kEventCreate,
                                            to_body(HandleBody{.flags = flags}), {}, &words);
  if (error == Error::kSuccess) *event = reinterpret_cast<void*>(words[0]);  // NOLINT
  return error;
}

Error on_event(CallKind kind, const void* event) {
  return Connection::get().ask(kind, to_body(HandleBody{.handle = event_number(event)}));
}

Error record(const void* event, std::uint64_t stream) {
  const HandleBody body = {.handle = event_number(event), .other = stream};
  return Connection::get().post(CallKind::kEventRecord, to_body(body));
}

Error elapsed(float* milliseconds, const void* start, const void* end) {
  if (milliseconds == nullptr) return Error::kInvalidValue;
  Connection::Words words = {};
  const HandleBody body = {.handle = event_number(start), .other = event_number(end)};
  const Error error = Connection::get().ask(CallKind::kEventElapsed, to_body(body), {}, &words);
  if (error == Error::kSuccess)
    *milliseconds = std::bit_cast<float>(static_cast<std::uint32_t>(words[0]));
  return error;
}

}  // namespace
}  // namespace sluice::guest

using sluice::guest::CallKind;
using sluice::guest::note;
using sluice::guest::stream_number;

SLUICE_GUEST_EXPORT int cudaEventCreate(void** event) {
  return note(sluice::guest::create_event(event, 0));
}
SLUICE_GUEST_EXPORT int cudaEventCreateWithFlags(void** event, unsigned flags) {
  return note(sluice::guest::create_event(event, flags));
}
SLUICE_GUEST_EXPORT int cudaEventDestroy(void* event) {
  return note(sluice::guest::on_event(CallKind::kEventDestroy, event));
}
SLUICE_GUEST_EXPORT int cudaEventRecord(void* event, void* stream) {
  return note(sluice::guest::record(event, stream_number(stream)));
}
SLUICE_GUEST_EXPORT int cudaEventRecord_ptsz(void* event, void* stream) {
  return note(sluice::guest::record(event, stream_number(stream, true)));
}
SLUICE_GUEST_EXPORT int cudaEventRecordWithFlags(void* event, void* stream, unsigned /*flags*/) {
  return note(sluice::guest::record(event, stream_number(stream)));
}
SLUICE_GUEST_EXPORT int cudaEventRecordWithFlags_ptsz(void* event, void* stream,
                                                      unsigned /*flags*/) {
  return note(sluice::guest::record(event, stream_number(stream, true)));
}
SLUICE_GUEST_EXPORT int cudaEventSynchronize(void* event) {
  return note(sluice::guest::on_event(CallKind::kEventWait, event));
}
SLUICE_GUEST_EXPORT int cudaEventQuery(void* event) {
  return note(sluice::guest::on_event(CallKind::kEventAsk, event));
}
SLUICE_GUEST_EXPORT int cudaEventElapsedTime(float* milliseconds, void* start, void* end) {
  return note(sluice::guest::elapsed(milliseconds, start, end));
}
