#include "backend/extensions/virtual_time.h"

#include <algorithm>

#include "backend/handle.h"
#include "sluice/extensions/virtual_time.h"

namespace sluice::backend {

Result<std::shared_ptr<VirtualTime>> VirtualTime::of(std::shared_ptr<const Backend> backend) {
  const std::string& name = backend->name();
  const auto* table = static_cast<const sluice_virtual_time*>(
      SLUICE_TRY(backend->find_extension(SLUICE_VIRTUAL_TIME)));
  if (table == nullptr) {
    return unimplemented("backend \"{}\" has no virtual time: it does not simulate", name);
  }
  if (table->struct_size < sizeof(sluice_virtual_time)) {
    return internal_error("backend \"{}\": its {} has {} bytes, not {}", name, SLUICE_VIRTUAL_TIME,
                          table->struct_size, sizeof(sluice_virtual_time));
  }
  return std::shared_ptr<VirtualTime>(new VirtualTime(std::move(backend), table));
}

std::int64_t VirtualTime::now_ns() const { return table_->now_ns(backend_->handle()); }

void VirtualTime::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                             std::int64_t deadline_ns) {
  // Without an event or deadline only another thread can make progress, so the caller sleeps.
  // Otherwise the simulation jumps.
  const std::int64_t until = std::min(next_event_ns(), deadline_ns);
  if (until == kNoDeadline) return condition.wait(lock);
  // Callers of the simulation may notify under this mutex while the clock advances.
  lock.unlock();
  advance_to(until);
  lock.lock();
}

std::int64_t VirtualTime::next_event_ns() const {
  return table_->next_event_ns(backend_->handle());
}

void VirtualTime::advance_to(std::int64_t time_ns) {
  table_->advance_to(backend_->handle(), time_ns);
}

void VirtualTime::run_until_idle() {
  for (std::int64_t next = next_event_ns(); next != kNoDeadline; next = next_event_ns()) {
    advance_to(next);
  }
}

std::string VirtualTime::log() const {
  std::string text(static_cast<std::size_t>(table_->log_size_bytes(backend_->handle())), '\0');
  const std::int64_t size =
      table_->read_log(backend_->handle(), 0, text.data(), static_cast<std::int64_t>(text.size()));
  // The log may have grown since its size was read, so read_log says what it wrote.
  text.resize(static_cast<std::size_t>(size));
  return text;
}

Result<FaultId> VirtualTime::inject_fault(const std::string& fault) {
  std::int64_t id = 0;
  SLUICE_TRY(
      call_plugin(backend_->name(), table_->inject_fault, backend_->handle(), fault.c_str(), &id));
  return FaultId(id);
}

Status VirtualTime::clear_fault(FaultId id) {
  return call_plugin(backend_->name(), table_->clear_fault, backend_->handle(),
                     static_cast<std::int64_t>(id));
}

Status VirtualTime::clear_all_faults() { return clear_fault(FaultId(-1)); }

Status VirtualTime::reset_device(int device) {
  return call_plugin(backend_->name(), table_->reset_device, backend_->handle(), device);
}

std::int64_t VirtualTime::memory_used_bytes(int device) const {
  return table_->memory_used_bytes(backend_->handle(), device);
}

}  // namespace sluice::backend
