#include "sandbox/exchange.h"

#include <utility>

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

Status Exchange::check_ttl(std::int64_t ttl_ns) const {
  if (ttl_ns >= 0 && ttl_ns <= options_.max_ttl_ns) return ok_status();
  return terms::runtime_error(RuntimeCode::kInvalid,
                              "a time to live of {} ns is not between 0 and {}", ttl_ns,
                              options_.max_ttl_ns);
}

void Exchange::add(OwnerId owner, std::shared_ptr<ByteBudget> payer) {
  const std::lock_guard lock(mutex_);
  table_.add(owner, std::move(payer));
}

Result<ExchangeTable::Room> Exchange::reserve(OwnerId owner, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  // Room is not refused because of a tensor that the thread has not reached.
  table_.expire(clock_.now_ns());
  return table_.reserve(owner, bytes, options_.limits);
}

Result<terms::TensorIndex> Exchange::put(OwnerId owner, terms::OutputTensor tensor,
                                         std::int64_t ttl_ns) {
  SLUICE_TRY(check_ttl(ttl_ns));
  ExchangeTable::Room room = SLUICE_TRY(reserve(owner, tensor.view.size_bytes));
  return put(owner, std::move(tensor), std::move(room), ttl_ns);
}

Result<terms::TensorIndex> Exchange::put(OwnerId owner, terms::OutputTensor tensor,
                                         ExchangeTable::Room room, std::int64_t ttl_ns) {
  SLUICE_TRY(check_ttl(ttl_ns));
  const std::int64_t expires_ns =
      clock_.now_ns() + (ttl_ns == 0 ? options_.default_ttl_ns : ttl_ns);
  const std::lock_guard lock(mutex_);
  const std::int64_t next_ns = table_.next_expiry_ns();
  auto index = table_.put(owner, std::move(tensor), expires_ns, std::move(room));
  // The thread sleeps until the expiry that was the earliest.
  if (expires_ns < next_ns) changed_.notify_all();
  return index;
}

Result<std::string> Exchange::offer(OwnerId owner, terms::TensorIndex index) {
  const std::lock_guard lock(mutex_);
  return table_.offer(owner, index);
}

Result<ExchangeTable::Lease> Exchange::get_offered(terms::TensorIndex index,
                                                   std::string_view key) const {
  const std::lock_guard lock(mutex_);
  return table_.get_offered(index, key);
}

Result<ExchangeTable::Lease> Exchange::get(OwnerId owner, terms::TensorIndex index) const {
  const std::lock_guard lock(mutex_);
  return table_.get(owner, index);
}

Status Exchange::remove(OwnerId owner, terms::TensorIndex index) {
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
