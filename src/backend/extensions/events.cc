#include "backend/extensions/events.h"

#include "sluice/extensions/events.h"

namespace sluice::backend {
namespace {

/// Null where the plug-in has no such extension, or an incomplete one.
Result<const sluice_events*> events_of(const Backend& backend) {
  const auto* table = SLUICE_TRY(backend.find_table<sluice_events>(SLUICE_EVENTS));
  const bool is_whole = table != nullptr && table->event_create != nullptr &&
                        table->event_destroy != nullptr && table->event_record != nullptr &&
                        table->stream_wait_event != nullptr;
  return is_whole ? table : nullptr;
}

}  // namespace

Result<bool> Event::is_supported(const Backend& backend) {
  return SLUICE_TRY(events_of(backend)) != nullptr;
}

Result<Event> Event::create(std::shared_ptr<const Backend> backend) {
  const sluice_events* table = SLUICE_TRY(events_of(*backend));
  if (table == nullptr) return unimplemented("backend \"{}\" has no events", backend->name());
  sluice_event* made = nullptr;
  SLUICE_TRY(call_plugin(backend->name(), table->event_create, backend->handle(), &made));
  if (made == nullptr) return internal_error("backend \"{}\" returned no event", backend->name());
  return Event({std::move(backend), made, table->event_destroy}, table);
}

Status Event::record(const Stream& stream) {
  return call_plugin(handle_.parent()->name(), table_->event_record, handle_.get(), stream.get());
}

Status Event::make_wait(const Stream& stream) const {
  return call_plugin(handle_.parent()->name(), table_->stream_wait_event, stream.get(),
                     handle_.get());
}

}  // namespace sluice::backend
