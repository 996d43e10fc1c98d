// A package behind a file descriptor.
#pragma once

#include <filesystem>
#include <memory>

#include "package/executable.h"
#include "shm/fd_socket.h"

namespace sluice::worker {

/// Maps all of the file, whose descriptor may be closed afterwards. Code of devices that the
/// package holds is left out unless `keeps_code`. Fails: kInvalid, kUnsupportedVersion;
/// kOutOfResources.
Result<std::shared_ptr<const package::Executable>> map_package(int fd, bool keeps_code);

/// For reading; `is_real`: by open_real. Fails: kInvalid.
Result<shm::Fd> open_package(const std::filesystem::path& path, bool is_real = false);
/// Another descriptor of the same file. Fails: kOutOfResources.
Result<shm::Fd> duplicate(int fd);

}  // namespace sluice::worker
