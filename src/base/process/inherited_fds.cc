#include "base/process/inherited_fds.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

std::string unix_address(const sockaddr_un& address, socklen_t size) {
  const std::size_t room = size - offsetof(sockaddr_un, sun_path);
  if (address.sun_path[0] == '/') {
    return fmt::format("unix:{}",
                       std::string_view(address.sun_path, strnlen(address.sun_path, room)));
  }
  if (address.sun_path[0] != '\0' || room < 2) return "";
  return fmt::format("unix:@{}", std::string_view(address.sun_path + 1, room - 1));
}

int option_of(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

}  // namespace

std::string ip_host(const sockaddr& address) {
  const socklen_t size = address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::array<char, NI_MAXHOST> host = {};
  getnameinfo(&address, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
  return host.data();
}

std::string at_port(const std::string& ip_host, int port) {
  const bool is_ipv6 = ip_host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", ip_host, port) : fmt::format("{}:{}", ip_host, port);
}

std::string socket_address(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  const auto& any = reinterpret_cast<const sockaddr&>(address);
  if (address.ss_family == AF_INET) {
    return at_port(ip_host(any), ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port));
  }
  if (address.ss_family == AF_INET6) {
    return at_port(ip_host(any), ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port));
  }
  const bool has_name = address.ss_family == AF_UNIX && size > offsetof(sockaddr_un, sun_path);
  return has_name ? unix_address(reinterpret_cast<const sockaddr_un&>(address), size) : "";
}

std::string passed_name(std::string_view role, bool is_managed) {
  return fmt::format("{}{}", is_managed ? kManagedPrefix : "", role);
}

InheritedFds::InheritedFds(InheritedFds&& other) noexcept
    : is_taken_over_(std::move(other.is_taken_over_)),
      sockets_(std::exchange(other.sockets_, {})),
      files_(std::exchange(other.files_, {})) {}

InheritedFds& InheritedFds::operator=(InheritedFds&& other) noexcept {
  std::swap(is_taken_over_, other.is_taken_over_);
  std::swap(sockets_, other.sockets_);
  std::swap(files_, other.files_);
  return *this;
}

InheritedFds::~InheritedFds() {
  for (const auto& [address, socket] : sockets_) close(socket.fd);
  for (const int fd : files_) close(fd);
}

Status InheritedFds::add(int fd, bool is_managed) {
  struct stat info = {};
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    files_.push_back(fd);
    return ok_status();
  }
  const std::string address = socket_address(fd);
  const bool listens = option_of(fd, SO_TYPE) == SOCK_STREAM && option_of(fd, SO_ACCEPTCONN) == 1;
  if (address.empty() || !listens ||
      !sockets_.try_emplace(address, Claimed{fd, is_managed, is_taken_over_}).second) {
    close(fd);
    return invalid_argument(
        "file descriptor {} is not a stream socket that listens at an address of its own", fd);
  }
  return ok_status();
}

InheritedFds::Claimed InheritedFds::claim_socket(const std::string& address) {
  const auto it = sockets_.find(address);
  if (it == sockets_.end()) return {};
  const Claimed claimed = it->second;
  sockets_.erase(it);
  return claimed;
}

int InheritedFds::claim_file(const std::filesystem::path& path) {
  struct stat wanted = {};
  if (lstat(path.c_str(), &wanted) != 0) return -1;
  for (auto it = files_.begin(); it != files_.end(); ++it) {
    struct stat info = {};
    const bool is_it =
        fstat(*it, &info) == 0 && info.st_dev == wanted.st_dev && info.st_ino == wanted.st_ino;
    if (!is_it) continue;
    const int fd = *it;
    files_.erase(it);
    return fd;
  }
  return -1;
}

InheritedFds::Claimed claim_socket(InheritedFds* inherited, const std::string& address) {
  return inherited == nullptr ? InheritedFds::Claimed() : inherited->claim_socket(address);
}

}  // namespace sluice
