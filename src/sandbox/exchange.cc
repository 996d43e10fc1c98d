#include "sandbox/exchange.h"

namespace sluice::sandbox {

Exchange::Exchange(Clock& clock, const ExchangeOptions& options)
    : clock_(clock), options_(options), thread_([this] { run(); }) {}

Exchange::~Exchange() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Exchange::run() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    table_.expire(clock_.now_ns());
    clock_.wait_until(lock, changed_, table_.next_expiry_ns());
  }
}

Result<TensorIndex> Exchange::put(OwnerId owner, runtime::OutputTensor tensor,
                                  std::int64_t ttl_ns) {
  if (ttl_ns < 0 || ttl_ns > options_.max_ttl_ns) {
    return runtime::runtime_error(runtime::RuntimeCode::kInvalid,
                                  "a time to live of {} ns is not between 0 and {}", ttl_ns,
                                  options_.max_ttl_ns);
  }
  const std::int64_t now_ns = clock_.now_ns();
  const std::int64_t expires_ns = now_ns + (ttl_ns == 0 ? options_.default_ttl_ns : ttl_ns);
  const std::lock_guard lock(mutex_);
  const std::int64_t next_ns = table_.next_expiry_ns();
  table_.expire(now_ns);  // room is not refused because of a tensor that the thread has not reached
  auto index = table_.put(owner, std::move(tensor), expires_ns, options_.limits);
  if (expires_ns < next_ns) changed_.notify_all();
  return index;
}

Result<ExchangeTable::Lease> Exchange::get(OwnerId owner, TensorIndex index) const {
  const std::lock_guard lock(mutex_);
  return table_.get(owner, index);
}

Status Exchange::remove(OwnerId owner, TensorIndex index) {
  const std::lock_guard lock(mutex_);
  return table_.remove(owner, index);
}

void Exchange::drop(OwnerId owner) {
  const std::lock_guard lock(mutex_);
  table_.drop(owner);
}

ExchangeUsage Exchange::usage(OwnerId owner) const {
  const std::lock_guard lock(mutex_);
  return table_.usage(owner);
}

}  // namespace sluice::sandbox
