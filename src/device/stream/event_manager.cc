#include "device/stream/event_manager.h"

namespace sluice::device {

Status EventManager::order(std::span<PooledStream> streams, std::size_t index,
                           std::span<const Access> accesses) {
  for (const std::size_t other : hazards_.add(index, accesses)) {
    if (!tail_[other]) tail_[other] = SLUICE_TRY(record_tail(*streams[other]));
    SLUICE_TRY(events_[*tail_[other]].make_wait(*streams[index]));
    ++num_waits_;
  }
  tail_[index].reset();  // work follows
  return ok_status();
}

Result<std::size_t> EventManager::record_tail(backend::Stream& stream) {
  if (num_used_ == events_.size()) {
    events_.push_back(SLUICE_TRY(backend::Event::create(backend_)));
  }
  SLUICE_TRY(events_[num_used_].record(stream));
  return num_used_++;
}

void EventManager::end_run() {
  hazards_.clear();
  num_used_ = 0;
  tail_.assign(tail_.size(), std::nullopt);
}

}  // namespace sluice::device
