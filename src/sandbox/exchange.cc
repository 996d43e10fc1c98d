#include "sandbox/exchange.h"

#include <algorithm>
#include <utility>

namespace sluice::sandbox {

namespace {

/// Waits for the device that has the bytes. Requires: no lock is held.
Result<ExchangeTable::Lease> in_host(ExchangeTable::Lease lease) {
  if (lease->left != nullptr) SLUICE_TRY(lease->left->fetch());
  return lease;
}

}  // namespace

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
    const std::int64_t now_ns = clock_.now_ns();
    table_.expire(now_ns);
    if (now_ns < next_look_ns_) {
      clock_.wait_until(lock, changed_, std::min(table_.next_expiry_ns(), next_look_ns_));
      continue;
    }
    next_look_ns_ = kNoDeadline;  // `look_at` may set an earlier one while the holders look
    std::int64_t next_ns = kNoDeadline;
    visit_holders(
        lock, [&](ExchangeHolder& holder) { next_ns = std::min(next_ns, holder.expire(now_ns)); });
    next_look_ns_ = std::min(next_look_ns_, next_ns);
  }
}

/// Gives the lock back for each visit. Allocates nothing: a thread without a caller comes here.
void Exchange::visit_holders(std::unique_lock<std::mutex>& lock,
                             const std::function<void(ExchangeHolder&)>& visit) {
  for (std::size_t i = 0; i < holders_.size(); ++i) {
    std::shared_ptr<ExchangeHolder> holder = holders_[i].lock();
    if (holder == nullptr) continue;
    lock.unlock();
    visit(*holder);
    holder = nullptr;  // perhaps as its last owner
    lock.lock();
  }
}

void Exchange::add(std::weak_ptr<ExchangeHolder> holder) {
  const std::lock_guard lock(mutex_);
  const auto gone = std::ranges::find_if(holders_, [](const auto& one) { return one.expired(); });
  if (gone != holders_.end()) {
    *gone = std::move(holder);
  } else {
    holders_.push_back(std::move(holder));
  }
}

void Exchange::look_at(std::int64_t at_ns) {
  const std::lock_guard lock(mutex_);
  if (at_ns >= next_look_ns_) return;
  next_look_ns_ = at_ns;
  changed_.notify_all();
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

Result<ExchangeTable::Room> Exchange::reserve(OwnerId owner, std::int64_t bytes, RoomKind kind) {
  const std::lock_guard lock(mutex_);
  // Room is not refused because of a tensor that the thread has not reached.
  table_.expire(clock_.now_ns());
  return table_.reserve(owner, bytes, options_.limits, kind);
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
  std::unique_lock lock(mutex_);
  auto lease = SLUICE_TRY(table_.get_offered(index, key));
  lock.unlock();
  return in_host(std::move(lease));
}

Result<ExchangeTable::Lease> Exchange::get(OwnerId owner, terms::TensorIndex index) const {
  return in_host(SLUICE_TRY(find(owner, index)));
}

Result<ExchangeTable::Lease> Exchange::find(OwnerId owner, terms::TensorIndex index) const {
  const std::lock_guard lock(mutex_);
  return table_.get(owner, index);
}

Status Exchange::remove(OwnerId owner, terms::TensorIndex index) {
  const std::lock_guard lock(mutex_);
  return table_.remove(owner, index);
}

Status Exchange::keep_copy(OwnerId owner, terms::TensorIndex index,
                           std::shared_ptr<const void> copy) {
  const std::lock_guard lock(mutex_);
  return table_.keep_copy(owner, index, std::move(copy));
}

void Exchange::drop(OwnerId owner) {
  std::unique_lock lock(mutex_);
  table_.drop(owner);
  visit_holders(lock, [&](ExchangeHolder& holder) { holder.drop(owner); });
}

ExchangeUsage Exchange::usage(OwnerId owner) const {
  const std::lock_guard lock(mutex_);
  return table_.usage(owner);
}

}  // namespace sluice::sandbox
