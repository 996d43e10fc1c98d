// Keeps two daemons off one device.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/topology/device_map.h"

namespace sluice::daemon {

/// A locked file per device, until the object or the process ends, however it ends. Movable.
class DeviceLocks {
 public:
  /// Makes `folder` if it is not there. `owner`: what the file says of this daemon, one line.
  /// Fails: kAlreadyExists naming the device, the daemon that has it and what to do;
  ///        kPermissionDenied, kNotFound, kUnavailable for the folder.
  static Result<DeviceLocks> take(const std::filesystem::path& folder,
                                  const runtime::DeviceMap& devices, const std::string& owner);

  DeviceLocks() = default;
  DeviceLocks(DeviceLocks&& other) noexcept : fds_(std::exchange(other.fds_, {})) {}
  DeviceLocks& operator=(DeviceLocks&& other) noexcept;
  DeviceLocks(const DeviceLocks&) = delete;
  DeviceLocks& operator=(const DeviceLocks&) = delete;
  ~DeviceLocks();

 private:
  Status take_one(const std::filesystem::path& folder, const runtime::Device& device,
                  const std::string& owner);

  std::vector<int> fds_;
};

}  // namespace sluice::daemon
