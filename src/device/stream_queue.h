// A stream whose work may wait for that of other streams.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "backend/command_list.h"
#include "device/event.h"
#include "device/stream_pool.h"

namespace sluice::device {

/// A command list with the buffers it runs on.
struct StreamWork {
  const backend::CommandList* list = nullptr;  ///< lives until the work is done
  std::vector<void*> bindings;
  /// Whatever has to be done before it, of any stream of the same thread.
  std::vector<EventPtr> after;
};

/// Runs work in order of submission, each when its events are done:
///
///     waiting --all events done, the work before it done--> running --> done | failed
///        `--an event failed--> failed
///
/// A failure fails what waits for it and nothing else. The plug-in boundary knows no events: they
/// live here, and one piece of work per stream runs at a time. Driven by one thread; one that
/// never steps never runs anything.
class StreamQueue {
 public:
  explicit StreamQueue(PooledStream stream) : stream_(std::move(stream)) {}

  /// The event is signalled when the work is done or failed.
  EventPtr submit(StreamWork work);

  /// Notices what is done and starts what may start, without waiting. Whether anything moved.
  bool step();

  bool is_idle() const { return waiting_.empty() && !running_; }

  /// Fails what has not started with kCancelled; what runs goes on.
  void cancel_waiting();

 private:
  struct Entry {
    StreamWork work;
    std::shared_ptr<Event> event;
  };

  bool poll_running();
  bool start_next();
  void finish(Status status);

  PooledStream stream_;
  std::deque<Entry> waiting_;
  std::optional<Entry> running_;
};

}  // namespace sluice::device
