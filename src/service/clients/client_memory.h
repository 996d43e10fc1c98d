// The memory that clients make a daemon hold, by kind and by account.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/byte_budget.h"
#include "terms/group.h"

namespace sluice::service {

struct MemoryLimits {
  std::int64_t answer_bytes = std::int64_t{4} << 30;    ///< of all clients together
  std::int64_t exchange_bytes = std::int64_t{4} << 30;  ///< the same
  std::int64_t account_bytes = 0;                       ///< of one account; 0: no limit
};

/// What an account's clients make the daemon hold. Each part is charged to the account, to all
/// memory of its kind, and to the process (exec::process_memory).
struct AccountMemory {
  std::shared_ptr<ByteBudget> all;
  std::shared_ptr<ByteBudget> models;  ///< contexts, and constants beside those of packages
  std::shared_ptr<ByteBudget> packages;
  std::shared_ptr<ByteBudget> exchange;
  std::shared_ptr<ByteBudget> answers;
  std::shared_ptr<ByteBudget> kept;  ///< answers for requests to come; bounded as one store
};

/// Safe across threads. What counts against a budget may outlive this.
class ClientMemory {
 public:
  explicit ClientMemory(const MemoryLimits& limits);

  /// All clients of an account share `all`, as long as one of them or of their things lives.
  std::shared_ptr<const AccountMemory> of(const std::string& account);
  /// By kind: "models", "packages", "exchange", "answers", and "other": what no account made, and
  /// kept answers.
  std::vector<terms::MemoryItem> by_kind() const;
  /// Memory of accounts that hold something.
  std::vector<terms::MemoryItem> by_account() const;
  /// What all is charged to in the end.
  static const std::shared_ptr<ByteBudget>& process();

 private:
  const std::int64_t account_bytes_;
  const AccountMemory kinds_;  ///< of all accounts; `all` is the process's
  mutable std::mutex mutex_;
  std::map<std::string, std::weak_ptr<ByteBudget>> accounts_;  ///< their `all`
};

}  // namespace sluice::service
