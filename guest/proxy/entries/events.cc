// Events of a guest.
#include <bit>

#include "guest/proxy/guest.h"

namespace sluice::guest {
namespace {

using cuda::CuResult;

constexpr unsigned kEventFlags = cuda::kEventBlockingSync | cuda::kEventDisableTiming;

CuResult event_create(Guest& guest, const Call& call, Answer& answer) {
  const auto body = from_body<HandleBody>(call.body);
  if ((body.flags & ~kEventFlags) != 0) return CuResult::kInvalidValue;
  cuda::CuEvent event = nullptr;
  const CuResult result = guest.driver().event_create(&event, body.flags);
  if (result != CuResult::kSuccess) return result;
  answer.words[0] = guest.events.add({.event = event});
  if (answer.words[0] != 0) return CuResult::kSuccess;
  guest.driver().event_destroy(event);
  return CuResult::kOutOfMemory;
}

CuResult event_destroy(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<HandleBody>(call.body);
  const GuestEvent* const event = guest.events.find(body.handle);
  if (event == nullptr) return CuResult::kInvalidHandle;
  const CuResult result = guest.driver().event_destroy(event->event);
  guest.events.remove(body.handle);
  return result;
}

CuResult event_record(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<HandleBody>(call.body);
  GuestEvent* const event = guest.events.find(body.handle);
  GuestStream* stream = nullptr;
  CuResult result = guest.enter(body.other, &stream);
  if (result != CuResult::kSuccess) return result;
  if (event == nullptr) return CuResult::kInvalidHandle;
  event->stream.reset();
  result = guest.driver().event_record(event->event, stream->stream);
  if (result == CuResult::kSuccess && !guest.is_in_capture(*stream)) event->stream = body.other;
  return result;
}

CuResult event_wait(Guest& guest, const Call& call, Answer& /*answer*/) {
  const GuestEvent* const event = guest.events.find(from_body<HandleBody>(call.body).handle);
  return event != nullptr ? guest.driver().event_synchronize(event->event)
                          : CuResult::kInvalidHandle;
}

CuResult event_ask(Guest& guest, const Call& call, Answer& /*answer*/) {
  const GuestEvent* const event = guest.events.find(from_body<HandleBody>(call.body).handle);
  return event != nullptr ? guest.driver().event_query(event->event) : CuResult::kInvalidHandle;
}

CuResult event_elapsed(Guest& guest, const Call& call, Answer& answer) {
  const auto body = from_body<HandleBody>(call.body);
  const GuestEvent* const start = guest.events.find(body.handle);
  const GuestEvent* const end = guest.events.find(body.other);
  if (start == nullptr || end == nullptr) return CuResult::kInvalidHandle;
  float milliseconds = 0;
  const CuResult result =
      guest.driver().event_elapsed_time(&milliseconds, start->event, end->event);
  answer.words[0] = std::bit_cast<std::uint32_t>(milliseconds);
  return result;
}

}  // namespace

void fill_event_entries(EntryTable& table) {
  table[CallKind::kEventCreate] = event_create;
  table[CallKind::kEventDestroy] = event_destroy;
  table[CallKind::kEventRecord] = event_record;
  table[CallKind::kEventWait] = event_wait;
  table[CallKind::kEventAsk] = event_ask;
  table[CallKind::kEventElapsed] = event_elapsed;
}

}  // namespace sluice::guest
