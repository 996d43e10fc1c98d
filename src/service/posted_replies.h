// When replies go that nobody takes.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "dispatch/posted_table.h"
#include "sandbox/exchange.h"

namespace sluice::service {

/// Has the thread of the exchange look after the replies of sessions that stay silent.
class PostedReplies final : public sandbox::ExchangeHolder {
 public:
  /// `exchange` outlives this and the table's requests. Before the table has requests.
  void add(const std::shared_ptr<dispatch::PostedTable>& table, sandbox::Exchange& exchange);

  std::int64_t expire(std::int64_t now_ns) override;
  void drop(sandbox::OwnerId /*owner*/) override {}

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<dispatch::PostedTable>> tables_;
};

}  // namespace sluice::service
