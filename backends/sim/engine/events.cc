// Order between streams. A recording and a wait are entries of a stream's queue that take no time:
// a recording happens when it reaches the front, a wait leaves the front when its recording has
// happened.
#include "engine/simulator.h"

namespace sluice::sim {

Event* Simulator::create_event() {
  const std::lock_guard lock(mutex_);
  auto made = std::make_unique<Event>();
  made->simulator = this;
  made->id = ++num_device_events_;
  return made.release();
}

void Simulator::destroy_event(Event* event) {
  const std::lock_guard lock(mutex_);
  delete event;
}

void Simulator::record(Event* event, Stream* stream) {
  const std::lock_guard lock(mutex_);
  event->last = std::make_shared<Recording>();
  log_.add(now_ns_, "event_record", "event=", event->id, " stream=", stream->id);
  push(*stream, {.recording = event->last});
}

void Simulator::wait_for(Event* event, Stream* stream) {
  const std::lock_guard lock(mutex_);
  log_.add(now_ns_, "event_wait", "event=", event->id, " stream=", stream->id);
  if (event->last == nullptr || event->last->has_happened) return;
  push(*stream, {.recording = event->last, .is_wait = true});
}

void Simulator::push(Stream& stream, Run run) {
  stream.runs.push_back(std::move(run));
  if (stream.runs.size() == 1) start_next(stream);
}

/// Whether the entry at the front has ended: a wait may have to stay there.
bool Simulator::pass_recording(Stream& stream) {
  const std::shared_ptr<Recording> recording = stream.runs.front().recording;
  if (stream.runs.front().is_wait) {
    if (recording->has_happened) {
      stream.runs.pop_front();
      return true;
    }
    recording->waiting.push_back(stream.id);
    return false;
  }
  stream.runs.pop_front();
  happened(*recording);
  return true;
}

void Simulator::happened(Recording& recording) {
  recording.has_happened = true;
  for (const int id : std::exchange(recording.waiting, {})) {
    const auto waiting = streams_.find(id);
    if (waiting == streams_.end() || waiting->second->runs.empty()) continue;
    // The stream may have failed and gone on since.
    if (waiting->second->runs.front().recording.get() == &recording) start_next(*waiting->second);
  }
}

}  // namespace sluice::sim
