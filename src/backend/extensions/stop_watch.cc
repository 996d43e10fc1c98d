#include "backend/extensions/stop_watch.h"

namespace sluice::backend {

const sluice_stop* find_stop(const Backend& backend) {
  const auto found = backend.find_table<sluice_stop>(SLUICE_STOP);
  return found.is_ok() ? *found : nullptr;
}

StopWatch::StopWatch(const Backend& backend, const sluice_stop* table,
                     const std::function<Status()>& check)
    : backend_(backend), table_(table), check_(check) {
  if (table_ != nullptr) table_->watch(backend_.handle(), ask, this);
}

StopWatch::~StopWatch() {
  if (table_ != nullptr) table_->watch(backend_.handle(), nullptr, nullptr);
}

// No exception may pass the plug-in that calls it.
std::int32_t StopWatch::ask(void* user) noexcept {
  auto& watch = *static_cast<StopWatch*>(user);
  if (watch.reason_.is_ok()) watch.reason_ = watch.check_();
  return watch.reason_.is_ok() ? 0 : 1;
}

}  // namespace sluice::backend
