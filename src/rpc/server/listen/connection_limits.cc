#include "rpc/server/listen/connection_limits.h"

#include <sys/stat.h>

#include <vector>

#include "base/text/plural.h"

namespace sluice::rpc::server {
namespace {

/// 0 for a closed descriptor.
std::uint64_t socket_of(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

}  // namespace

Status ConnectionLimits::admit(int fd, const std::string& peer) {
  const std::lock_guard lock(mutex_);
  forget(fd);  // the one before with this number
  const auto of_peer = [&] {
    const auto it = num_of_peer_.find(peer);
    return it == num_of_peer_.end() ? std::size_t{0} : it->second;
  };
  if (open_.size() >= max_ || of_peer() >= max_per_peer_) forget_closed();
  if (open_.size() >= max_) {
    return make_error(Code::kResourceExhausted, "{} connections are open, the most there may be",
                      open_.size());
  }
  if (of_peer() >= max_per_peer_) {
    return make_error(Code::kResourceExhausted, "{} has {}, the most it may have", peer,
                      counted(of_peer(), "connection"));
  }
  ++num_of_peer_[peer];
  open_[fd] = {socket_of(fd), peer};
  return ok_status();
}

std::size_t ConnectionLimits::count() {
  const std::lock_guard lock(mutex_);
  forget_closed();
  return open_.size();
}

void ConnectionLimits::forget_closed() {
  std::vector<int> closed;
  for (const auto& [fd, connection] : open_) {
    if (socket_of(fd) != connection.socket) closed.push_back(fd);
  }
  for (const int fd : closed) forget(fd);
}

void ConnectionLimits::forget(int fd) {
  const auto it = open_.find(fd);
  if (it == open_.end()) return;
  const auto count = num_of_peer_.find(it->second.peer);
  if (--count->second == 0) num_of_peer_.erase(count);
  open_.erase(it);
}

}  // namespace sluice::rpc::server
