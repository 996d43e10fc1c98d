// Who is at the other end of gRPC's connections.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "service/clients/peer.h"

namespace sluice::rpc::server {

/// Peers of the connections that the daemon accepted itself, keyed by gRPC's name of the
/// connection. Thread-safe.
class PeerTable {
 public:
  void set(int fd, terms::Peer peer);
  terms::Peer find(const std::string& name) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, terms::Peer> peers_;
};

}  // namespace sluice::rpc::server
