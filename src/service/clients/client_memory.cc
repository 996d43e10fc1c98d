#include "service/clients/client_memory.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "exec/memory_scope.h"

namespace sluice::service {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

using Budget = std::shared_ptr<ByteBudget>;

Budget budget(std::int64_t limit_bytes, Budget parent, Budget second_parent = nullptr) {
  return std::make_shared<ByteBudget>(limit_bytes, std::move(parent), std::move(second_parent));
}

AccountMemory kinds_of(const MemoryLimits& limits) {
  const Budget& process = exec::process_memory();
  return {process,
          budget(kNoLimit, process),
          budget(kNoLimit, process),
          budget(limits.exchange_bytes, process),
          budget(limits.answer_bytes, process),
          process};
}

}  // namespace

ClientMemory::ClientMemory(const MemoryLimits& limits)
    : account_bytes_(limits.account_bytes > 0 ? limits.account_bytes : kNoLimit),
      kinds_(kinds_of(limits)) {}

std::shared_ptr<const AccountMemory> ClientMemory::of(const std::string& account) {
  const std::lock_guard lock(mutex_);
  Budget all = accounts_[account].lock();
  if (all == nullptr) {
    std::erase_if(accounts_, [](const auto& entry) { return entry.second.expired(); });
    all = budget(account_bytes_, nullptr);
    accounts_[account] = all;
  }
  const auto part = [&](const Budget& kind) { return budget(kNoLimit, kind, all); };
  return std::make_shared<const AccountMemory>(
      AccountMemory{all, part(kinds_.models), part(kinds_.packages), part(kinds_.exchange),
                    part(kinds_.answers), part(kinds_.kept)});
}

std::vector<terms::MemoryItem> ClientMemory::by_kind() const {
  std::vector<terms::MemoryItem> items = {{"models", kinds_.models->held_bytes()},
                                          {"packages", kinds_.packages->held_bytes()},
                                          {"exchange", kinds_.exchange->held_bytes()},
                                          {"answers", kinds_.answers->held_bytes()}};
  // Each is read at a moment of its own, so that the difference may be below 0.
  std::int64_t other = kinds_.all->held_bytes();
  for (const terms::MemoryItem& item : items) other -= item.bytes;
  items.push_back({"other", std::max<std::int64_t>(other, 0)});
  return items;
}

std::vector<terms::MemoryItem> ClientMemory::by_account() const {
  const std::lock_guard lock(mutex_);
  std::vector<terms::MemoryItem> items;
  for (const auto& [account, weak] : accounts_) {
    const Budget all = weak.lock();
    if (all != nullptr && all->held_bytes() > 0) items.push_back({account, all->held_bytes()});
  }
  return items;
}

const std::shared_ptr<ByteBudget>& ClientMemory::process() { return exec::process_memory(); }

}  // namespace sluice::service
