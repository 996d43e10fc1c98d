// Numbers of accounts, by which texts share pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace sluice::completions {

/// Safe across threads.
class AccountNumbers {
 public:
  explicit AccountNumbers(std::size_t most_accounts = 65536) : most_accounts_(most_accounts) {}

  /// From 1; the same for each call with this account. Once there are `most_accounts`, an account
  /// that is not among them gets another number with each call: its texts share with no others.
  std::uint64_t number_of(const std::string& account) {
    const std::lock_guard lock(mutex_);
    const auto found = numbers_.find(account);
    if (found != numbers_.end()) return found->second;
    const std::uint64_t number = ++last_;
    if (numbers_.size() < most_accounts_) numbers_.emplace(account, number);
    return number;
  }

 private:
  const std::size_t most_accounts_;
  std::mutex mutex_;  ///< guards the rest
  std::map<std::string, std::uint64_t> numbers_;
  std::uint64_t last_ = 0;
};

}  // namespace sluice::completions
