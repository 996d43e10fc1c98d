// Ensures that one daemon uses a device at a time.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/process/inherited_fds.h"
#include "base/result.h"
#include "topology/map/device_map.h"

namespace sluice::daemon {

/// A locked file per device, until the object or the process ends, however it ends. A device with a
/// bus address, except a simulated one, also has a name that one process of the machine may hold
/// (an abstract Unix socket): it keeps daemons with other lock folders away, those of containers
/// with the host's network included. Locks of processes that ended do not count. Movable.
class DeviceLocks {
 public:
  /// Creates `folder` if needed. `owner`: one line that describes this daemon, written to the
  /// files. Locks of `inherited` are shared with the daemon that passed them on; null: none.
  /// Fails: kAlreadyExists naming the device, the daemon that has it and what to do;
  ///        kPermissionDenied, kNotFound, kUnavailable for the folder.
  static Result<DeviceLocks> take(const std::filesystem::path& folder,
                                  const topology::DeviceMap& devices, const std::string& owner,
                                  InheritedFds* inherited = nullptr);

  DeviceLocks() = default;
  DeviceLocks(DeviceLocks&& other) noexcept : fds_(std::exchange(other.fds_, {})) {}
  DeviceLocks& operator=(DeviceLocks&& other) noexcept;
  DeviceLocks(const DeviceLocks&) = delete;
  DeviceLocks& operator=(const DeviceLocks&) = delete;
  ~DeviceLocks();

  /// Adds the locks, for the next process.
  void pass_on(std::vector<PassedFd>& to) const;

 private:
  Status take_one(const std::filesystem::path& folder, const terms::Device& device,
                  const std::string& owner, InheritedFds* inherited);
  Status take_name(const terms::Device& device, InheritedFds* inherited);

  std::vector<int> fds_;
};

}  // namespace sluice::daemon
