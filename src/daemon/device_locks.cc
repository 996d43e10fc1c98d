#include "daemon/device_locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>

namespace sluice::daemon {
namespace {

namespace fs = std::filesystem;

Status system_error(const fs::path& path) {
  const Code code = errno == EACCES || errno == EPERM || errno == EROFS ? Code::kPermissionDenied
                    : errno == ENOENT                                   ? Code::kNotFound
                                                                        : Code::kUnavailable;
  return make_error(code, "device lock {}: {}; --lock-folder names another folder", path.string(),
                    std::strerror(errno));
}

/// The name must be stable across restarts: the bus address, or kind and number if there is none.
std::string file_name(const topology::Device& device) {
  std::string name =
      device.kind + "-" +
      (device.bus_address.empty() ? std::to_string(device.id.value()) : device.bus_address);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.' && c != ':')
      c = '_';
  }
  return name + ".lock";
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
                                      const std::string& owner) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    errno = error.value();
    return system_error(folder);
  }
  DeviceLocks locks;
  for (const topology::Device& device : devices.devices) {
    SLUICE_TRY(locks.take_one(folder, device, owner));
  }
  return locks;
}

Status DeviceLocks::take_one(const fs::path& folder, const topology::Device& device,
                             const std::string& owner) {
  const fs::path path = folder / file_name(device);
  const int fd = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return system_error(path);
  fds_.push_back(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return make_error(Code::kAlreadyExists,
                      "{} is served by {}; stop it, or name other devices with -t",
                      topology::describe(device), owner_in(fd));
  }
  const std::string line = owner + "\n";
  if (ftruncate(fd, 0) != 0 || pwrite(fd, line.data(), line.size(), 0) < 0) {
    return system_error(path);
  }
  return ok_status();
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
