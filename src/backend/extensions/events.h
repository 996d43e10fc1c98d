// Order between streams of a backend without a wait of the host.
#pragma once

#include "backend/group.h"

struct sluice_events;
struct sluice_event;

namespace sluice::backend {

/// A moment of a stream that other streams can wait for. Move-only; keeps the backend alive. Used
/// by one thread at a time.
class Event {
 public:
  /// Whether the plug-in has the extension "sluice.events/1". Fails: as the plug-in says.
  static Result<bool> is_supported(const Backend& backend);
  /// Fails: kUnimplemented without the extension; as the plug-in says.
  static Result<Event> create(std::shared_ptr<const Backend> backend);

  /// The event happens when all work submitted to `stream` so far is done, failed work included.
  Status record(const Stream& stream);
  /// Work submitted to `stream` from now on starts after the last recording has happened.
  Status make_wait(const Stream& stream) const;

 private:
  Event(Handle<sluice_event, Backend> handle, const sluice_events* table)
      : handle_(std::move(handle)), table_(table) {}

  Handle<sluice_event, Backend> handle_;
  const sluice_events* table_;
};

}  // namespace sluice::backend
