#include "rpc/server/listen/peer_table.h"

#include <fmt/format.h>

#include <utility>

namespace sluice::rpc::server {

void PeerTable::set(int fd, terms::Peer peer) {
  const std::lock_guard lock(mutex_);
  peers_[fmt::format("fd:{}", fd)] = std::move(peer);
}

terms::Peer PeerTable::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto it = peers_.find(name);
  return it == peers_.end() ? terms::Peer{name} : it->second;
}

}  // namespace sluice::rpc::server
