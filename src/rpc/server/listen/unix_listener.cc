#include "rpc/server/listen/unix_listener.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "service/clients/refusals.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83  // Linux 6.16, <asm-generic/socket.h>
#endif

namespace sluice::rpc::server {
namespace {

constexpr int kUnixBacklog = 128;

/// Clients cannot send descriptors to the connections of this socket, which inherit the setting. An
/// older kernel lets them send; loops read without room for descriptors, and so the kernel closes
/// them then.
void refuse_descriptors(int fd) {
  const int off = 0;
  const int set = setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
  (void)set;
}

Status system_error(const std::string& path, std::string_view what) {
  const int error = errno;
  const Code code = error == EACCES || error == EPERM || error == EROFS ? Code::kPermissionDenied
                    : error == ENOENT                                   ? Code::kNotFound
                    : error == EADDRINUSE                               ? Code::kAlreadyExists
                                                                        : Code::kUnavailable;
  return make_error(code, "socket {}: {}: {}", path, what, std::strerror(error));
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

/// Further groups of the process that connected. None where the kernel does not report them.
std::vector<std::int64_t> more_groups_of(int fd) {
  std::vector<gid_t> groups(NGROUPS_MAX);
  auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) return {};
  groups.resize(size / sizeof(gid_t));
  return {groups.begin(), groups.end()};
}

terms::Peer peer_of(int fd, const std::string& path) {
  terms::Peer peer = {"unix:" + path};
  ucred credentials = {};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
    peer.process = credentials.pid;
    peer.user = credentials.uid;
    peer.group = credentials.gid;
    peer.more_groups = more_groups_of(fd);
  }
  return peer;
}

/// Whether somebody accepts there.
bool is_served(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const sockaddr_un address = address_of(path);
  const int connected = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const bool is_full = connected != 0 && errno == EAGAIN;
  close(fd);
  return connected == 0 || is_full;
}

}  // namespace

Result<std::unique_ptr<UnixListener>> UnixListener::create(const UnixSocketOptions& options,
                                                           OnAccept on_accept, service::Log& log) {
  if (options.path.size() >= sizeof(sockaddr_un::sun_path)) {
    return invalid_argument("socket {}: the path is longer than the {} bytes a socket's may have",
                            options.path, sizeof(sockaddr_un::sun_path) - 1);
  }
  std::unique_ptr<UnixListener> listener(new UnixListener(options, std::move(on_accept), log));
  listener->socket_ = claim_socket(options.inherited, "unix:" + options.path);
  if (!listener->socket_.is_managed) SLUICE_TRY(listener->lock());
  if (listener->socket_.fd < 0) SLUICE_TRY(listener->bind());
  if (!options.takes_descriptors) refuse_descriptors(listener->socket_.fd);
  const auto take = [raw = listener.get()](int fd) { raw->take(fd); };
  listener->acceptor_ = SLUICE_TRY(Acceptor::create({listener->socket_.fd}, take, log));
  return listener;
}

/// A lock that ends with the process says whether a socket that is there is served. A successor
/// shares the lock with the process before it.
Status UnixListener::lock() {
  const std::string path = options_.path + ".lock";
  if (options_.inherited != nullptr) lock_fd_ = options_.inherited->claim_file(path);
  if (lock_fd_ < 0) lock_fd_ = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock_fd_ < 0) return system_error(options_.path, "its lock file");
  if (flock(lock_fd_, LOCK_EX | LOCK_NB) == 0) return ok_status();
  return make_error(Code::kAlreadyExists,
                    "socket {}: another sluiced serves it; stop that daemon, or choose another "
                    "address with -g",
                    options_.path);
}

Status UnixListener::bind() {
  struct stat info = {};
  if (lstat(options_.path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) {
      return make_error(Code::kAlreadyExists, "socket {}: a file that is no socket is there",
                        options_.path);
    }
    if (is_served(options_.path)) {
      return make_error(Code::kAlreadyExists, "socket {}: another program serves it",
                        options_.path);
    }
    unlink(options_.path.c_str());
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return system_error(options_.path, "socket");
  const sockaddr_un address = address_of(options_.path);
  const mode_t before = umask(0177);  // nobody else until its group and mode are set
  const int bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  umask(before);
  if (bound != 0) {
    const Status status = system_error(options_.path, "bind");
    close(fd);
    return status;
  }
  socket_.fd = fd;  // from now on the path is ours to remove
  SLUICE_TRY(set_access());
  if (listen(socket_.fd, kUnixBacklog) != 0) return system_error(options_.path, "listen");
  return ok_status();
}

Status UnixListener::set_access() const {
  if (!options_.group.empty()) {
    const group* entry = getgrnam(options_.group.c_str());
    if (entry == nullptr) {
      return invalid_argument(
          "socket {}: there is no group \"{}\"; create it with: groupadd "
          "--system {}",
          options_.path, options_.group, options_.group);
    }
    // A daemon of that group needs not ask, and its system calls may be filtered.
    struct stat info = {};
    const bool has_group = stat(options_.path.c_str(), &info) == 0 && info.st_gid == entry->gr_gid;
    if (!has_group && chown(options_.path.c_str(), static_cast<uid_t>(-1), entry->gr_gid) != 0) {
      return system_error(options_.path,
                          fmt::format("giving it to group {}, which needs root or one of its "
                                      "members (socket_group \"\" leaves the group as it is)",
                                      options_.group));
    }
  }
  if (chmod(options_.path.c_str(), options_.mode) != 0) {
    return system_error(options_.path, "setting its mode");
  }
  return ok_status();
}

UnixListener::~UnixListener() {
  acceptor_ = nullptr;
  if (socket_.fd >= 0) {
    const bool is_ours = socket_.is_taken_over == nullptr || *socket_.is_taken_over;
    if (is_ours && !socket_.is_managed && !is_left_) unlink(options_.path.c_str());
    close(socket_.fd);
  }
  if (lock_fd_ >= 0) close(lock_fd_);  // the file stays for processes that wait for the lock
}

void UnixListener::pass_on(std::string_view role, std::vector<PassedFd>& to) const {
  to.push_back({socket_.fd, passed_name(role, socket_.is_managed)});
  if (lock_fd_ >= 0) to.push_back({lock_fd_, std::string(kPassedLock)});
}

void UnixListener::leave() {
  acceptor_ = nullptr;
  is_left_ = true;
}

void UnixListener::take(int fd) const {
  const terms::Peer peer = peer_of(fd, options_.path);
  if (!may_connect(peer)) {
    service::count_refused_connection();
    log_.add(service::LogLevel::kWarning, "connection.denied user={} process={}", peer.user,
             peer.process);
    close(fd);
    return;
  }
  on_accept_(fd, peer);
}

bool UnixListener::may_connect(const terms::Peer& peer) const {
  if (options_.users.empty() || peer.user == 0 || peer.user == geteuid()) return true;
  return std::ranges::any_of(options_.users, [&](uid_t user) { return user == peer.user; });
}

}  // namespace sluice::rpc::server
