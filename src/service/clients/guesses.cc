#include "service/clients/guesses.h"

namespace sluice::service {

bool Guesses::take(const std::string& host, std::string_view token, std::int64_t now_ns) {
  const std::string both = host + '\n' + std::string(token);
  const std::lock_guard lock(mutex_);
  if (!token.empty() && known_.contains(both)) return true;
  auto guesser = guessers_.find(host);
  if (guesser != guessers_.end() && guesser->second.is_full(now_ns)) {
    guessers_.erase(guesser);
    guesser = guessers_.end();
  }
  if (token.empty() && guesser == guessers_.end()) {
    if (guessers_.size() >= kMost) guessers_.clear();
    guesser = guessers_.emplace(host, Allowance(kTries, now_ns)).first;
  }
  if (guesser != guessers_.end() && !guesser->second.take(now_ns)) return false;
  if (token.empty()) return true;
  if (known_.size() >= kMost) known_.clear();
  known_.insert(both);
  return true;
}

std::string host_of(std::string_view address) {
  return std::string(address.substr(0, address.rfind(':')));
}

}  // namespace sluice::service
