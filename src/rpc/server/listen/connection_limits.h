// How many connections may be open: in all, and from one peer.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/result.h"

namespace sluice::rpc::server {

/// Connections close without telling, so closed ones are found when a limit is reached: a
/// descriptor that is closed, or is another socket by now, counts no longer. Safe across threads.
class ConnectionLimits {
 public:
  ConnectionLimits(std::size_t max, std::size_t max_per_peer)
      : max_(max), max_per_peer_(max_per_peer) {}

  /// Counts the connection `fd` of `peer`: a user of this machine or a host.
  /// Fails: kResourceExhausted; the caller closes it.
  Status admit(int fd, const std::string& peer);
  /// Connections that are open.
  std::size_t count();

 private:
  struct Connection {
    std::uint64_t socket = 0;  ///< inode
    std::string peer;
  };
  void forget_closed();
  void forget(int fd);

  const std::size_t max_;
  const std::size_t max_per_peer_;
  std::mutex mutex_;
  std::map<int, Connection> open_;
  std::map<std::string, std::size_t> num_of_peer_;
};

}  // namespace sluice::rpc::server
