// Streams of a guest, from the streams that all guests share.
#include <algorithm>

#include "guest/proxy/guest.h"

namespace sluice::guest {
namespace {

using cuda::CuResult;

CuResult stream_create(Guest& guest, const Call& call, Answer& answer) {
  const auto body = from_body<HandleBody>(call.body);
  GuestStream made;
  made.priority = std::clamp(body.value, kGreatestPriority, 0);
  made.is_blocking = (body.flags & cuda::kStreamNonBlocking) == 0;
  const CuResult result = guest.take_stream(made.priority, &made.stream);
  if (result != CuResult::kSuccess) return result;
  answer.words[0] = guest.streams.add(made);
  if (answer.words[0] != 0) return CuResult::kSuccess;
  guest.give_stream(made.priority, made.stream);
  return CuResult::kOutOfMemory;
}

/// Waits for the stream's work, unlike CUDA: its successor must find it idle.
CuResult stream_destroy(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<HandleBody>(call.body);
  GuestStream* const stream = guest.streams.find(body.handle);
  if (stream == nullptr) return CuResult::kInvalidHandle;
  if (guest.is_in_capture(*stream) && !stream->is_captured) return CuResult::kCaptureUnsupported;
  guest.release(*stream);
  guest.streams.remove(body.handle);
  return CuResult::kSuccess;
}

CuResult stream_wait(Guest& guest, const Call& call, Answer& /*answer*/) {
  GuestStream* stream = nullptr;
  const CuResult result = guest.enter(from_body<HandleBody>(call.body).handle, &stream);
  return result == CuResult::kSuccess ? guest.driver().stream_synchronize(stream->stream) : result;
}

CuResult stream_ask(Guest& guest, const Call& call, Answer& /*answer*/) {
  GuestStream* stream = nullptr;
  const CuResult result = guest.enter(from_body<HandleBody>(call.body).handle, &stream);
  return result == CuResult::kSuccess ? guest.driver().stream_query(stream->stream) : result;
}

/// A stream that waits for an event of a captured one joins its capture; the default stream cannot.
/// A wait for the stream's own event is left out: the order is there.
CuResult stream_wait_event(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<HandleBody>(call.body);
  const GuestEvent* const event = guest.events.find(body.other);
  GuestStream* stream = nullptr;
  CuResult result = guest.enter(body.handle, &stream);
  if (result == CuResult::kSuccess && event == nullptr) result = CuResult::kInvalidHandle;
  if (result == CuResult::kSuccess && body.handle == kDefaultStream && guest.is_capturing() &&
      guest.driver().event_query(event->event) == CuResult::kCapturedEvent) {
    result = CuResult::kCaptureImplicit;
  }
  if (result != CuResult::kSuccess) return result;
  if (event->stream == body.handle && !guest.is_in_capture(*stream)) return result;
  return guest.driver().stream_wait_event(stream->stream, event->event, 0);
}

CuResult device_wait(Guest& guest, const Call& /*call*/, Answer& /*answer*/) {
  return guest.is_capturing() ? CuResult::kCaptureUnsupported : guest.wait_for_all();
}

}  // namespace

void fill_stream_entries(EntryTable& table) {
  table[CallKind::kStreamCreate] = stream_create;
  table[CallKind::kStreamDestroy] = stream_destroy;
  table[CallKind::kStreamWait] = stream_wait;
  table[CallKind::kStreamAsk] = stream_ask;
  table[CallKind::kStreamWaitEvent] = stream_wait_event;
  table[CallKind::kDeviceWait] = device_wait;
}

}  // namespace sluice::guest
