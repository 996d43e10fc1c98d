#include "daemon/device_locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace sluice::daemon {
namespace {

namespace fs = std::filesystem;

Status system_error(const fs::path& path) {
  const Code code = errno == EACCES || errno == EPERM || errno == EROFS ? Code::kPermissionDenied
                    : errno == ENOENT                                   ? Code::kNotFound
                                                                        : Code::kUnavailable;
  return make_error(code, "device lock {}: {}; run as root, or give --lock-folder another folder",
                    path.string(), std::strerror(errno));
}

/// The name must be stable across restarts: the bus address, or kind and number if there is none.
std::string file_name(const terms::Device& device) {
  std::string name =
      device.kind + "-" +
      (device.bus_address.empty() ? std::to_string(device.id.value()) : device.bus_address);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.' && c != ':')
      c = '_';
  }
  return name + ".lock";
}

/// Name of a device's lock for the machine. Processors are no devices that a second daemon could
/// break, and simulated devices exist once for each daemon.
std::string machine_name(const terms::Device& device) {
  const bool is_hardware = device.kind != "sim" && device.kind != "cpu";
  if (!is_hardware || device.bus_address.empty()) return "";
  return "sluice-device/" + file_name(device);
}

/// An abstract socket's address: it ends with the last descriptor, whatever the file system is.
std::pair<sockaddr_un, socklen_t> address_of(const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), size);
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size)};
}

/// Who listens there: the kernel knows.
std::string holder_of(const sockaddr_un& address, socklen_t size) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  ucred holder = {};
  socklen_t holder_size = sizeof(holder);
  const bool is_known = connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &holder, &holder_size) == 0;
  close(fd);
  // 0: a process that this one's namespace does not show.
  if (!is_known || holder.pid == 0) return "another daemon";
  return fmt::format("process {} of user {}", holder.pid, holder.uid);
}

std::string owner_in(int fd) {
  std::array<char, 200> text = {};
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  std::string owner(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  owner.erase(std::min(owner.find('\n'), owner.size()));
  return owner.empty() ? "another daemon" : owner;
}

}  // namespace

Result<DeviceLocks> DeviceLocks::take(const fs::path& folder, const topology::DeviceMap& devices,
                                      const std::string& owner, InheritedFds* inherited) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    errno = error.value();
    return system_error(folder);
  }
  DeviceLocks locks;
  for (const terms::Device& device : devices.devices) {
    SLUICE_TRY(locks.take_one(folder, device, owner, inherited));
  }
  return locks;
}

Status DeviceLocks::take_one(const fs::path& folder, const terms::Device& device,
                             const std::string& owner, InheritedFds* inherited) {
  const fs::path path = folder / file_name(device);
  int fd = inherited == nullptr ? -1 : inherited->claim_file(path);
  if (fd < 0) fd = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return system_error(path);
  fds_.push_back(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return make_error(Code::kAlreadyExists,
                      "{} is served by {}, and one daemon serves a device: load your models "
                      "there, stop it, or name other devices (sluiced --devices)",
                      topology::describe(device), owner_in(fd));
  }
  const std::string line = owner + "\n";
  if (ftruncate(fd, 0) != 0 || pwrite(fd, line.data(), line.size(), 0) < 0) {
    return system_error(path);
  }
  return take_name(device, inherited);
}

Status DeviceLocks::take_name(const terms::Device& device, InheritedFds* inherited) {
  const std::string name = machine_name(device);
  if (name.empty()) return ok_status();
  if (const auto claimed = claim_socket(inherited, "unix:@" + name); claimed.fd >= 0) {
    fds_.push_back(claimed.fd);
    return ok_status();
  }
  const auto [address, size] = address_of(name);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return make_error(Code::kUnavailable, "device lock: {}", std::strerror(errno));
  fds_.push_back(fd);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    return make_error(Code::kAlreadyExists,
                      "{} is served by {}, which has another lock folder; stop it, or name other "
                      "devices with -t",
                      topology::describe(device), holder_of(address, size));
  }
  listen(fd, 1);  // answers holder_of
  return ok_status();
}

void DeviceLocks::pass_on(std::vector<PassedFd>& to) const {
  for (const int fd : fds_) to.push_back({fd, std::string(kPassedLock)});
}

DeviceLocks& DeviceLocks::operator=(DeviceLocks&& other) noexcept {
  std::swap(fds_, other.fds_);
  return *this;
}

DeviceLocks::~DeviceLocks() {
  for (const int fd : fds_)
    close(fd);  // files are kept: unlinking would let two daemons lock different files of one name
}

}  // namespace sluice::daemon
