// Descriptors that a process was started with: sockets that listen, and files that are locked.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

/// "127.0.0.1", "::1", or with its network "fe80::1%eth0". Requires: an address of IPv4 or IPv6.
std::string ip_host(const sockaddr& address);
/// "127.0.0.1:5555" or "[::1]:5555".
std::string at_port(const std::string& ip_host, int port);

/// What a bound socket is bound to: "unix:/PATH", "unix:@NAME" (abstract), or as at_port. Empty for
/// other descriptors.
std::string socket_address(int fd);

/// A descriptor for the process after this one, with the name that says what it is for.
struct PassedFd {
  int fd = -1;
  std::string name;
};

inline constexpr std::string_view kPassedLock = "lock";
inline constexpr std::string_view kManagedPrefix = "managed-";

/// Name of a listening socket: its role, or "managed-ROLE" if a service manager keeps it.
std::string passed_name(std::string_view role, bool is_managed);

/// Whoever needs a socket or a lock claims it here before it makes one of its own. Owns what nobody
/// has claimed. Used by one thread.
class InheritedFds {
 public:
  struct Claimed {
    int fd = -1;              ///< -1: there is none
    bool is_managed = false;  ///< a service manager keeps it: its path and mode are not ours
    /// Null for a socket of one's own. While it is false, the process before may go on with the
    /// socket, and the path stays.
    std::shared_ptr<const std::atomic<bool>> is_taken_over = nullptr;
  };

  InheritedFds() = default;
  InheritedFds(const InheritedFds&) = delete;
  InheritedFds& operator=(const InheritedFds&) = delete;
  InheritedFds(InheritedFds&& other) noexcept;
  InheritedFds& operator=(InheritedFds&& other) noexcept;
  ~InheritedFds();

  /// Takes `fd` in any case. Fails: kInvalidArgument if it is neither a file nor a stream socket
  /// that listens at an address.
  Status add(int fd, bool is_managed);
  /// The caller closes it from now on. `address`: as socket_address.
  Claimed claim_socket(const std::string& address);
  /// The open file that has this path now; -1 for none.
  int claim_file(const std::filesystem::path& path);
  /// A flag for all sockets; to be set once the process before leaves them. Outlives this.
  std::shared_ptr<std::atomic<bool>> taken_over() const { return is_taken_over_; }

 private:
  std::shared_ptr<std::atomic<bool>> is_taken_over_ = std::make_shared<std::atomic<bool>>(false);
  std::map<std::string, Claimed, std::less<>> sockets_;
  std::vector<int> files_;
};

/// Claims nothing where `inherited` is null.
InheritedFds::Claimed claim_socket(InheritedFds* inherited, const std::string& address);

}  // namespace sluice
