#include "service/posted_replies.h"

#include <algorithm>

namespace sluice::service {

void PostedReplies::add(const std::shared_ptr<dispatch::PostedTable>& table,
                        sandbox::Exchange& exchange) {
  table->set_on_kept([&exchange](std::int64_t over_ns) { exchange.look_at(over_ns); });
  const std::lock_guard lock(mutex_);
  std::erase_if(tables_, [](const auto& one) { return one.expired(); });
  tables_.push_back(table);
}

/// Lock order: mutex_, then that of a table.
std::int64_t PostedReplies::expire(std::int64_t /*now_ns*/) {
  std::int64_t next_ns = kNoDeadline;
  const std::lock_guard lock(mutex_);
  for (const auto& one : tables_) {
    if (const auto table = one.lock()) next_ns = std::min(next_ns, table->expire());
  }
  return next_ns;
}

}  // namespace sluice::service
