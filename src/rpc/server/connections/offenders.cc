#include "rpc/server/connections/offenders.h"

namespace sluice::rpc::server {

void Offenders::note(const std::string& host, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (hosts_.size() >= kMaxHosts) {
    std::erase_if(hosts_, [&](const auto& one) { return one.second.is_full(now_ns); });
    // An attacker with very many addresses gains one burst for each; the table stays small.
    if (hosts_.size() >= kMaxHosts) hosts_.clear();
  }
  hosts_.try_emplace(host, connections_, now_ns).first->second.take(now_ns);
}

bool Offenders::admit(const std::string& host, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const auto it = hosts_.find(host);
  if (it == hosts_.end()) return true;
  // A full bucket: the host has kept the rules long enough to be forgotten.
  if (it->second.is_full(now_ns)) {
    hosts_.erase(it);
    return true;
  }
  return it->second.take(now_ns);
}

}  // namespace sluice::rpc::server
