// What goes wrong on demand.
#include <cmath>

#include "engine/simulator.h"

namespace sluice::sim {

std::int64_t Simulator::inject(Fault fault) {
  const std::lock_guard lock(mutex_);
  const FaultKind kind = fault.kind;
  const int device = fault.device;
  const std::int64_t from_ns = fault.from_ns;
  const std::int64_t id = faults_.add(std::move(fault));
  log_.add(now_ns_, "fault", "id=", id, " kind=", name_of(kind), " device=", device);
  if (kind != FaultKind::kLostDevice) return id;
  if (from_ns <= now_ns_) {
    lose(device);
  } else {
    schedule(from_ns, {.loss = id});
  }
  return id;
}

Status Simulator::clear_fault(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  for (const Fault& fault : faults_.all()) {
    if (fault.kind == FaultKind::kLostDevice && (id == -1 || fault.id == id)) {
      state_of(fault.device).is_lost = false;
    }
  }
  if (!faults_.remove(id)) return {SLUICE_NOT_FOUND, "no fault " + std::to_string(id)};
  log_.add(now_ns_, "fault_cleared", "id=", id);
  for (const auto& [number, stream] : streams_) {
    Step& step = stream->step;
    // A hung kernel of another fault goes on hanging.
    if (step.hung_by == 0 || (id != -1 && step.hung_by != id)) continue;
    step.hung_by = 0;
    step.event = schedule(now_ns_, {.stream = stream});
  }
  return plugin::ok();
}

Status Simulator::reset_device(int device) {
  const std::lock_guard lock(mutex_);
  if (Status status = check_device(device); !status.is_ok()) return status;
  log_.add(now_ns_, "reset", "device=", device);
  faults_.remove_losses_of(device);
  state_of(device).is_lost = false;
  fail_all(device, {SLUICE_UNAVAILABLE, "device " + std::to_string(device) + " was reset"});
  return plugin::ok();
}

void Simulator::lose(int device) {
  if (state_of(device).is_lost) return;
  state_of(device).is_lost = true;
  log_.add(now_ns_, "lost", "device=", device);
  fail_all(device, lost_status(device));
}

void Simulator::fail_all(int device, const Status& status) {
  std::vector<Station*> freed;
  for (const auto& [id, stream] : streams_) {
    if (stream->group->device != device) continue;
    if (Station* station = detach(*stream); station != nullptr) freed.push_back(station);
    while (!stream->runs.empty()) {
      if (stream->runs.front().recording == nullptr) {
        end_run(*stream, status);
        continue;
      }
      const Run entry = std::move(stream->runs.front());
      stream->runs.pop_front();
      // A recording counts as happened, so that other streams do not wait for a lost device.
      if (!entry.is_wait) happened(*entry.recording);
    }
  }
  // Only now: a stream that starts on a free station must not be failed after that.
  for (Station* station : freed) dispatch(*station);
}

Status Simulator::lost_status(int device) const {
  return {SLUICE_UNAVAILABLE,
          "device " + std::to_string(device) + " is lost; reset it, or use another"};
}

std::int64_t Simulator::slowed(std::int64_t duration_ns, const Group& group) const {
  const double factor = faults_.slowness(group.device, group.cores, now_ns_);
  if (factor == 1) return duration_ns;
  return static_cast<std::int64_t>(std::llround(static_cast<double>(duration_ns) * factor));
}

Status Simulator::stuck_status(const Stream& stream) const {
  return {SLUICE_DEADLINE_EXCEEDED, "stream " + std::to_string(stream.id) +
                                        " would never be done: " + describe(stream) +
                                        ", and nothing else is left to happen"};
}

}  // namespace sluice::sim
